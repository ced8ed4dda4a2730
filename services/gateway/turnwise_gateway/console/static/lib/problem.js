// An error of the API (RFC 9457), or of the way to it.
export class Problem extends Error {
  constructor({ status = 0, code, title, detail, errors = [] }) {
    super(detail);
    this.name = "Problem";
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = detail;
    this.errors = errors;
  }

  // Pages ask again for what they show; a change is sent again by whoever wants it.
  static unreachable(method) {
    const next = method === "GET" ? "this page tries again" : "try again in a moment";
    return new Problem({
      code: "unreachable",
      title: "The server does not answer",
      detail: `No answer came from the server. It may be restarting, or the network is down; ${next}.`,
    });
  }

  // The problem that an answer holds; a proxy in between may have answered with something else.
  static async in(response) {
    let body = null;
    try {
      body = await response.json();
    } catch {
      // Not JSON: the status says all that is known.
    }
    if (body && typeof body.code === "string") return new Problem(body);
    return new Problem({
      status: response.status,
      code: "unexpected_answer",
      title: `The server answered ${response.status}`,
      detail: "The answer is no problem document, so it came from something between this page and Turnwise.",
    });
  }
}
