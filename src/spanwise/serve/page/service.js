// Requests to the service that this page came from, and sentences for what can go wrong.
const HEADLINES = new Map([
  [400, "The service could not read the request."],
  [401, "This service asks for a token."],
  [403, "The service did not accept this token."],
  [408, "The extraction took too long."],
  [413, "The text is too long for this service."],
  [415, "The service could not read the request."],
  [422, "The service did not accept the request."],
  [429, "There are too many requests. Try again later."],
  [503, "The service is busy."],
  [504, "The extraction took too long."],
]);
const OFFLINE = "The service does not answer. Check that it is running, then try again.";

export class ServiceError extends Error {
  constructor(message, { status = 0, detail = "" } = {}) {
    super(message);
    Object.assign(this, { status, detail });
  }
}

function failure(response, answer, token) {
  const { status } = response;
  const detail = typeof answer?.error?.message === "string" ? answer.error.message : "";
  const seconds = Number(response.headers.get("Retry-After"));
  let headline = HEADLINES.get(status) ?? `The service answered with status ${status}.`;
  if (status === 401 && token) headline = HEADLINES.get(403);
  if (status === 503) headline += seconds > 0 ? ` Try again in ${seconds} s.` : " Try again in a moment.";
  return new ServiceError(headline, { status, detail });
}

// The answer as JSON. Paths are relative, so that the service may live below any path of a proxy.
export async function ask(path, { token = "", body = undefined } = {}) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const method = body ? "POST" : "GET";
  let response, text;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: "no-store" });
    text = await response.text();
  } catch {
    throw new ServiceError(OFFLINE);
  }
  const answer = parsed(text);
  if (!response.ok) throw failure(response, answer, token);
  if (answer === null) throw new ServiceError("The answer of the service is not JSON.", { status: response.status });
  return answer;
}

// A proxy before the service may answer with a page of its own.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
