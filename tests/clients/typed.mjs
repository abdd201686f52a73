// node typed.mjs PORT TOKEN SESSION_KEY MESSAGE: what a person types into a chat of the gateway.
// Unlike `openclaw agent --message`, it runs slash commands, with a person's rights.
const [port, token, sessionKey, message] = process.argv.slice(2);
const client = { id: "gateway-client", version: "1.0.0", platform: "linux", mode: "backend" };
const scopes = ["operator.admin", "operator.read", "operator.write"];
const calls = [
  ["connect", { minProtocol: 4, maxProtocol: 4, client, role: "operator", scopes, auth: { token } }],
  ["chat.send", { sessionKey, message, idempotencyKey: crypto.randomUUID() }],
];
const socket = new WebSocket(`ws://127.0.0.1:${port}`);
socket.onerror = () => (console.error("no connection"), process.exit(1));
socket.onmessage = ({ data }) => {
  const { type, event, ok } = JSON.parse(data);
  if (type === "event" && event !== "connect.challenge") return;
  if (type === "res" && !ok) (console.error(data), process.exit(1));
  if (!calls.length) process.exit(0);
  const [method, params] = calls.shift();
  socket.send(JSON.stringify({ type: "req", id: method, method, params }));
};
