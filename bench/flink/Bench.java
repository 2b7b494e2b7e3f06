import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/** Flink as its users run it: SQL tables over folders. Reads "COLUMNS<TAB>INPUT<TAB>OUTPUT" ("" = blackhole), answers milliseconds. */
public class Bench {
    public static void main(String[] arguments) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            String[] fields = order.split("\t", -1);
            Configuration configuration = new Configuration();
            configuration.setString("parallelism.default", arguments[0]);
            TableEnvironment tables = TableEnvironment.create(
                EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(configuration).build());
            tables.executeSql("CREATE TABLE source (" + fields[0] + ") WITH ('connector'='filesystem', 'path'='"
                + fields[1] + "', 'format'='canal-json')");
            tables.executeSql("CREATE TABLE sink (" + fields[0] + ") WITH (" + (fields[2].isEmpty()
                ? "'connector'='blackhole')"
                : "'connector'='filesystem', 'path'='" + fields[2] + "', 'format'='canal-json')"));
            long runtime = tables.executeSql("INSERT INTO sink SELECT * FROM source")
                .getJobClient().get().getJobExecutionResult().get().getNetRuntime();
            System.out.println(runtime);
        }
    }
}
