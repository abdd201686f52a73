// Wakebook for pi: put here by `wakebook init --host pi`, taken out by `--undo`. Do not edit.
const COMMAND = ["wakebook"];
const HOME = "";
const TOOLS = [];
// Everything is forwarded to one child, `wakebook link pi`: one JSON object a line, both ways.
// Nothing here decides anything, and nothing here ever breaks a turn.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// also of a session that pi does not save
const ANY = ["session_start", "before_agent_start", "tool_result"];
const [HOOK, FLUSH, TOOL] = [5_000, 30_000, 60_000]; // milliseconds

class Link {
  child = null;
  number = 0;
  waiting = new Map();

  start() {
    const [command, ...rest] = [...COMMAND, "link", "pi", "--home", HOME];
    // In a process session of its own: it finishes its work when pi has gone.
    const child = spawn(command, rest, { stdio: ["pipe", "pipe", "ignore"], detached: true });
    const gone = () => {
      if (this.child !== child) return;
      this.child = null;
      for (const { reject } of this.waiting.values()) reject(new Error("wakebook has stopped"));
      this.waiting.clear();
    };
    for (const event of ["error", "exit"]) child.on(event, gone);
    child.stdin.on("error", gone);
    createInterface({ input: child.stdout }).on("line", (line) => this.answered(line));
    for (const one of [child, child.stdin, child.stdout]) one.unref?.();
    this.child = child;
  }

  answered(line) {
    let answer;
    try {
      answer = JSON.parse(line);
    } catch {
      return;
    }
    const asked = this.waiting.get(answer.id);
    this.waiting.delete(answer.id);
    if (answer.error) asked?.reject(new Error(answer.error));
    else asked?.resolve(answer.result ?? {});
  }

  ask(message, milliseconds) {
    if (!this.child) this.start();
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      const late = () => {
        this.waiting.delete(id);
        reject(new Error("wakebook did not answer in time"));
      };
      const timer = setTimeout(late, milliseconds);
      const done = (then) => (value) => (clearTimeout(timer), then(value));
      this.waiting.set(id, { resolve: done(resolve), reject: done(reject) });
      this.child.stdin.write(`${JSON.stringify({ id, within: milliseconds, ...message })}\n`);
    });
  }

  end() {
    this.child?.stdin.end(); // it works off what it has, then it goes
    this.child = null;
  }
}

function about(ctx) {
  return { session: ctx.sessionManager.getSessionId(), path: ctx.sessionManager.getSessionFile() };
}

/** Whether the model sees nothing of ours yet: a new session, or a compacted one. */
function isFirst(ctx) {
  const branch = ctx.sessionManager.getBranch();
  const cut = branch.findLast((one) => one.type === "compaction");
  const from = cut ? branch.findIndex((one) => one === cut || one.id === cut.firstKeptEntryId) : 0;
  return !branch.slice(from).some((one) => one.customType === "wakebook");
}

export default function (pi) {
  const link = new Link();

  async function hook(event, ctx, more = {}, milliseconds = HOOK) {
    try {
      const payload = { ...about(ctx), ...more };
      if (payload.path === undefined && !ANY.includes(event)) return {};
      return await link.ask({ call: "hook", event, payload }, milliseconds);
    } catch {
      return {}; // `wakebook status` shows it
    }
  }

  for (const { name, label, description, parameters } of TOOLS)
    pi.registerTool({
      name, label, description, parameters,
      async execute(_id, given, _signal, _onUpdate, ctx) {
        const message = { call: "tool", name, arguments: given, ...about(ctx) };
        const { text, data, failed } = await link.ask(message, TOOL);
        if (failed) throw new Error(text);
        return { content: [{ type: "text", text }], details: data };
      },
    });

  pi.on("session_start", ({ type, reason }, ctx) => void hook(type, ctx, { reason, path: "" }));
  pi.on("before_agent_start", async (event, ctx) => {
    const more = { prompt: event.prompt, first: isFirst(ctx) };
    const { message } = await hook("before_agent_start", ctx, more);
    if (message) return { message: { customType: "wakebook", content: message, display: false } };
  });
  pi.on("tool_result", async ({ type, toolName, input, content }, ctx) => {
    if (TOOLS.some(({ name }) => name === toolName)) return;
    const { message: text } = await hook(type, ctx, { tool_input: input });
    if (text) return { content: [...content, { type: "text", text }] };
  });
  pi.on("agent_end", async ({ type, messages }, ctx) => {
    const { content = [] } = messages?.findLast(({ role }) => role === "assistant") ?? {};
    const output = [content].flat().map(({ text = "" }) => text).join("\n");
    await hook(type, ctx, { output });
  });
  pi.on("session_before_compact", async ({ type, reason }, ctx) => {
    const { systemMessage } = await hook(type, ctx, { reason }, FLUSH);
    if (systemMessage && ctx.hasUI) ctx.ui.notify(systemMessage, "warning");
  });
  pi.on("session_shutdown", async ({ reason }, ctx) => {
    await hook(reason === "reload" ? "agent_end" : "session_shutdown", ctx, { reason });
    link.end();
  });
}
