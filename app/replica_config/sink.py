"""``replica_config.sink``. Unset fields (None) are left out of replies; the URI's parameters win over their twins."""

from typing import ClassVar

from pydantic import Field

from app.replica_config.go import Bool, DurationText, GoModel, Int, Uint


class DispatchRule(GoModel):
    """``dispatcher``: the old name of ``partition`` in TOML files; TiCDC's API drops it."""

    matcher: list[str] = []
    partition: str | None = None
    index: str | None = None
    columns: list[str] | None = None
    topic: str | None = None
    target_schema: str | None = Field(default=None, alias="target-schema")
    target_table: str | None = Field(default=None, alias="target-table")
    dispatcher: str | None = None


class ColumnSelector(GoModel):
    matcher: list[str] = []
    columns: list[str] = []


class Csv(GoModel):
    delimiter: str = ","
    quote: str = '"'
    null: str = "\\N"
    include_commit_ts: Bool = False
    binary_encoding_method: str = "base64"
    output_old_value: Bool = False
    output_handle_key: Bool = False
    output_field_header: Bool = False


class CodecConfig(GoModel):
    enable_tidb_extension: Bool | None = None
    max_batch_size: Int | None = None
    avro_enable_watermark: Bool | None = None
    avro_decimal_handling_mode: str | None = None
    avro_bigint_unsigned_handling_mode: str | None = None
    avro_include_before_value: Bool | None = None
    encoding_format: str | None = None


class LargeMessageHandle(GoModel):
    large_message_handle_option: str | None = None
    large_message_handle_compression: str | None = None
    claim_check_storage_uri: str | None = None
    claim_check_raw_value: Bool | None = None


class GlueSchemaRegistry(GoModel):
    registry_name: str | None = None
    region: str | None = None
    access_key: str | None = None
    secret_access_key: str | None = None
    token: str | None = None


class KafkaConfig(GoModel):
    partition_num: Int | None = None
    replication_factor: Int | None = None
    kafka_version: str | None = None
    max_message_bytes: Int | None = None
    compression: str | None = None
    kafka_client_id: str | None = None
    auto_create_topic: Bool | None = None
    dial_timeout: DurationText | None = None
    write_timeout: DurationText | None = None
    read_timeout: DurationText | None = None
    required_acks: Int | None = None
    sasl_user: str | None = None
    sasl_password: str | None = None
    sasl_mechanism: str | None = None
    sasl_gssapi_auth_type: str | None = None
    sasl_gssapi_keytab_path: str | None = None
    sasl_gssapi_kerberos_config_path: str | None = None
    sasl_gssapi_service_name: str | None = None
    sasl_gssapi_user: str | None = None
    sasl_gssapi_password: str | None = None
    sasl_gssapi_realm: str | None = None
    sasl_gssapi_disable_pafxfast: Bool | None = None
    sasl_oauth_client_id: str | None = None
    sasl_oauth_client_secret: str | None = None
    sasl_oauth_token_url: str | None = None
    sasl_oauth_scopes: list[str] | None = None
    sasl_oauth_grant_type: str | None = None
    sasl_oauth_audience: str | None = None
    enable_tls: Bool | None = None
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    insecure_skip_verify: Bool | None = None
    codec_config: CodecConfig | None = None
    large_message_handle: LargeMessageHandle | None = None
    glue_schema_registry_config: GlueSchemaRegistry | None = None
    output_raw_change_event: Bool | None = None


class MysqlConfig(GoModel):
    worker_count: Int | None = None
    max_txn_row: Int | None = None
    max_multi_update_row_size: Int | None = None
    max_multi_update_row_count: Int | None = None
    tidb_txn_mode: str | None = None
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    time_zone: str | None = None
    write_timeout: DurationText | None = None
    read_timeout: DurationText | None = None
    timeout: DurationText | None = None
    async_ddl_timeout: DurationText | None = None
    enable_batch_dml: Bool | None = None
    enable_multi_statement: Bool | None = None
    enable_cache_prepared_statement: Bool | None = None


class CloudStorageConfig(GoModel):
    worker_count: Int | None = None
    flush_interval: DurationText | None = None
    file_size: Int | None = None
    output_column_id: Bool | None = None
    file_expiration_days: Int | None = None
    file_cleanup_cron_spec: str | None = None
    flush_concurrency: Int | None = None
    output_raw_change_event: Bool | None = None
    spool_disk_quota: Int | None = None
    spool_base_dir: str | None = None
    use_table_id_as_path: Bool | None = None


class PulsarOauth2(GoModel):
    issuer_url: str | None = Field(default=None, alias="oauth2-issuer-url")
    audience: str | None = Field(default=None, alias="oauth2-audience")
    private_key: str | None = Field(default=None, alias="oauth2-private-key")
    client_id: str | None = Field(default=None, alias="oauth2-client-id")
    scope: str | None = Field(default=None, alias="oauth2-scope")


class PulsarConfig(GoModel):
    """Hyphenated in JSON too, unlike everything else."""

    tls_certificate_path: str | None = Field(default=None, alias="tls-certificate-path")
    tls_private_key_path: str | None = Field(default=None, alias="tls-private-key-path")
    tls_trust_certs_file_path: str | None = Field(default=None, alias="tls-trust-certs-file-path")
    pulsar_producer_cache_size: Int | None = Field(default=None, alias="pulsar-producer-cache-size")
    pulsar_version: str | None = Field(default=None, alias="pulsar-version")
    compression_type: str | None = Field(default=None, alias="compression-type")
    authentication_token: str | None = Field(default=None, alias="authentication-token")
    connection_timeout: Int | None = Field(default=None, alias="connection-timeout")
    operation_timeout: Int | None = Field(default=None, alias="operation-timeout")
    batching_max_messages: Int | None = Field(default=None, alias="batching-max-messages")
    batching_max_publish_delay: Int | None = Field(default=None, alias="batching-max-publish-delay")
    send_timeout: Int | None = Field(default=None, alias="send-timeout")
    token_from_file: str | None = Field(default=None, alias="token-from-file")
    basic_user_name: str | None = Field(default=None, alias="basic-user-name")
    basic_password: str | None = Field(default=None, alias="basic-password")
    auth_tls_certificate_path: str | None = Field(default=None, alias="auth-tls-certificate-path")
    auth_tls_private_key_path: str | None = Field(default=None, alias="auth-tls-private-key-path")
    oauth2: PulsarOauth2 | None = None
    output_raw_change_event: Bool | None = Field(default=None, alias="output-raw-change-event")


class Debezium(GoModel):
    output_old_value: Bool = True
    include_start_ts: Bool | None = None


class OpenProtocol(GoModel):
    output_old_value: Bool = True


class Sink(GoModel):
    """Defaults of today's TiCDC, except ``file_index_width``: 6 when not given (contract, point 6)."""

    also: ClassVar[dict[str, str]] = {
        "advance_timeout": "advance_timeout_in_sec",
        "send-all-bootstrap-at-start": "send_all_bootstrap_at_start",
        "file_index_digit": "file_index_width",
    }

    protocol: str | None = None
    schema_registry: str | None = None
    transaction_atomicity: str | None = None
    dispatchers: list[DispatchRule] | None = None
    column_selectors: list[ColumnSelector] | None = None
    csv: Csv = Csv()
    encoder_concurrency: Int = 32
    terminator: str = "\r\n"
    date_separator: str = "day"
    enable_partition_separator: Bool = True
    file_index_width: Int = 6
    enable_kafka_sink_v2: Bool | None = None
    only_output_updated_columns: Bool = False
    delete_only_output_handle_key_columns: Bool = False
    content_compatible: Bool = False
    safe_mode: Bool | None = None
    advance_timeout_in_sec: Uint = 150
    send_bootstrap_interval_in_sec: Int = 120
    send_bootstrap_in_msg_count: Int = 10000
    send_bootstrap_to_all_partition: Bool = True
    send_all_bootstrap_at_start: Bool = False
    debezium_disable_schema: Bool = False
    debezium: Debezium = Debezium()
    open: OpenProtocol = OpenProtocol()
    kafka_config: KafkaConfig | None = None
    pulsar_config: PulsarConfig | None = None
    mysql_config: MysqlConfig | None = None
    cloud_storage_config: CloudStorageConfig | None = None
