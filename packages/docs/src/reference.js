// Begins Scalar in the page that holds it. What of Scalar would talk to its maker is off: proxy, fonts, telemetry, client, agent.
// The policy of the page forbids it besides.
const place = document.getElementById("reference");
const { api, clientId, clientSecret } = place.dataset;
// npm start fills in its demo client; elsewhere the reader types their own
const clientCredentials = { "x-scalar-client-id": clientId ?? "", clientSecret: clientSecret ?? "" };

globalThis.Scalar.createApiReference(place, {
  url: "openapi.json",
  // left out, the API is where this page is
  servers: [{ url: api || location.origin }],
  baseServerURL: location.origin,
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  externalUrls: {},
  hideClientButton: true,
  showDeveloperTools: "never",
  persistAuth: false,
  hideModels: true,
  theme: "none",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  authentication: { preferredSecurityScheme: "cpo", securitySchemes: { cpo: { flows: { clientCredentials } } } },
});
