// The page of the API's description, at <root>/docs.
SwaggerUIBundle({
  url: document.getElementById("swagger-ui").dataset.description,
  dom_id: "#swagger-ui",
  deepLinking: true,
  // Nothing is asked of other servers.
  validatorUrl: null,
});
