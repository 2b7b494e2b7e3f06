// Shows replies with their numbers as they came. A browser's own JSON rounds whole numbers above 2^53, and a TSO is
// about 4.6e17; so the text is indented here token by token and never parsed.

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

function indented(text) {
  let depth = 0;
  let out = "";
  let empty = false;
  const line = () => "\n" + "  ".repeat(depth);
  for (const token of text.match(TOKEN) || []) {
    if (token === "}" || token === "]") {
      depth -= 1;
      out += (empty ? "" : line()) + token;
      empty = false;
      continue;
    }
    if (empty) out += line();
    empty = token === "{" || token === "[";
    if (empty) depth += 1;
    out += token === ":" ? ": " : token;
    if (token === ",") out += line();
  }
  return out;
}

const ExactNumbers = () => ({
  wrapComponents: {
    responseBody: (Original, system) => (props) => {
      const exact = typeof props.content === "string" && /json/i.test(props.contentType || "");
      const shown = exact ? { ...props, content: indented(props.content), contentType: "text/plain" } : props;
      return system.React.createElement(Original, shown);
    },
  },
});

if (typeof SwaggerUIBundle !== "undefined") {
  SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    docExpansion: "list",
    validatorUrl: null,
    plugins: [ExactNumbers],
  });
}

if (typeof module !== "undefined") module.exports = { indented };
