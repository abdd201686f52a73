// Wakebook for OpenClaw: a thin shim. Everything is decided by one child, `wakebook link openclaw`,
// which lives as long as the gateway and speaks JSON lines on its standard input and output.
// Nothing here throws into the host: without the memory, a turn goes on as if there were none.
import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const WHAT = "The memory: every command of Wakebook (log, search, status, doctor ...)";
const OFFERED = ["memory_search", "memory_get", "remember", "handoff", "forget"];
const [TOOL_MS, STOP_MS] = [30_000, 6_000]; // the child finishes what it has begun within 5 s
const LONGEST_PAUSE_MS = 60_000; // before a child that died is started again
const RETIRED_MS = 90_000; // that a question waits for a hook after a reload
const STEER_MS = 1_500; // an agent waits between two tool calls
const HOOKS = { // milliseconds that each may take; at shutdown, all plugins share 2 s
  before_prompt_build: 2_500, agent_end: 5_000, before_compaction: 25_000,
  before_reset: 5_000, session_end: 1_500, gateway_start: 10_000,
};

class Link {
  child = null;
  calls = new Map(); // id -> what to do with the answer
  waiting = []; // until somebody calls us
  last = 0;
  deaths = 0; // in a row
  pause = null; // the timer until the next start
  warn = (text) => this.api.logger?.warn?.(`wakebook: ${text}`);

  start() {
    if (this.child || this.pause) return;
    const { command, home, lend } = this.config;
    const options = [...(home ? ["--home", home] : []), ...(lend ? ["--lend"] : [])];
    const words = [...command.slice(1), "link", "openclaw", ...options];
    const child = (this.child = spawn(command[0], words));
    child.once("error", (error) => this.ended(child, error.message));
    child.once("exit", (code, signal) => this.ended(child, code ?? signal));
    child.stdin.on("error", () => {}); // it is gone, and "exit" says so
    createInterface({ input: child.stdout }).on("line", (line) => this.heard(child, line));
    createInterface({ input: child.stderr }).on("line", (line) => this.warn(line));
    for (const one of [child, child.stdin, child.stdout, child.stderr]) one.unref?.();
  }

  ended(child, how) {
    if (this.child !== child) return;
    this.child = null;
    for (const answered of this.calls.values()) answered({ lost: `its process ended: ${how}` });
    const milliseconds = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** this.deaths++);
    this.warn(`its process ended (${how}); it is started again in ${milliseconds / 1000} s`);
    this.pause = setTimeout(() => ((this.pause = null), this.start()), milliseconds).unref();
  }

  heard(child, line) {
    try {
      const { id, ask, result, error, ...question } = JSON.parse(line);
      if (ask !== undefined) return void this.lend(child, ask, question);
      this.deaths = 0;
      this.calls.get(id)?.(error === undefined ? (result ?? {}) : { lost: error });
    } catch { this.warn(`not understood: ${line.slice(0, 200)}`); }
  }

  // Who called us last: an api or an operation from before a reload of the plugin is retired.
  calledBy(api) {
    for (const go of this.waiting.splice(0)) go();
    return Object.assign(this, { api, within: AsyncLocalStorage.snapshot() });
  }

  // The child has no model of its own and asks the one that the user gave this agent.
  async lend(child, answer, { system: systemPrompt, prompt: content, maxTokens }) {
    const messages = [{ role: "user", content }];
    const question = { messages, systemPrompt, maxTokens, purpose: "wakebook" };
    const ask = async () => this.api.runtime.llm.complete(question);
    const failed = (error) => ({ error: String(error?.message ?? error) });
    let said = await this.within(ask).catch(failed);
    if (said.error?.includes("retired")) {
      await new Promise((go) => (this.waiting.push(go), setTimeout(go, RETIRED_MS).unref()));
      said = await this.within(ask).catch(failed);
    }
    this.send(child, { answer, text: said.text, error: said.error });
  }

  send = ({ stdin }, message) => stdin.writable && stdin.write(JSON.stringify(message) + "\n");

  call(request, milliseconds) {
    return new Promise((resolve) => {
      try { this.start(); } catch (error) { this.warn(error.message); }
      if (!this.child) return resolve({ lost: "it is started again soon" });
      const id = ++this.last;
      const answered = (answer) => (clearTimeout(timer), this.calls.delete(id), resolve(answer));
      const timer = setTimeout(answered, milliseconds, { lost: "no answer in time" });
      this.calls.set(id, answered);
      this.send(this.child, { id, within: milliseconds, ...request });
    });
  }

  async hook(event, said, ctx) {
    const { sessionId: session, sessionKey: key, trigger, reason, ...more } = { ...ctx, ...said };
    const prompt = more.currentUserMessage ?? more.prompt;
    const { content } = more.messages?.findLast?.(({ role }) => role === "assistant") ?? {};
    const output = [content ?? []].flat().map(({ text = "" }) => text).join("\n");
    const payload = { session, key, trigger, reason, prompt, output, params: more.args };
    const told = await this.call({ call: "hook", event, payload }, HOOKS[event] ?? STEER_MS);
    if (told.lost || told.systemMessage) this.warn(`${event}: ${told.lost ?? told.systemMessage}`);
    return told.prependContext ? { prependContext: told.prependContext } : undefined;
  }

  async steer({ result, ...said }, ctx) { // what a tool call brings stands below its result
    const { prependContext: text } = (await this.hook("tool_result", said, ctx)) ?? {};
    const content = [...result.content, { type: "text", text }];
    if (text) return { result: { ...result, content } };
  }

  async tool(name, given, { sessionId: session, sessionKey: key }) {
    const request = { call: "tool", name, arguments: given ?? {}, session, key };
    const { text, data, lost } = await this.call(request, TOOL_MS);
    const sorry = `The memory did not answer (${lost}). Go on without it, and say so.`;
    return { content: [{ type: "text", text: lost ? sorry : text }], details: data ?? { lost } };
  }

  async stop() { // the child finishes what it was given; a later call starts another one
    const { child } = this;
    this.child = this.pause = clearTimeout(this.pause) ?? null;
    child?.stdin.end();
    const gone = child && new Promise((done) => child.once("exit", done));
    if (gone) await Promise.race([gone, new Promise((done) => setTimeout(done, STOP_MS).unref())]);
  }
}

// register() runs several times and this file may be loaded twice: there is one child all the same.
const link = (globalThis[Symbol.for("wakebook.link")] ??= new Link());
const tools = JSON.parse(readFileSync(new URL("./tools.json", import.meta.url), "utf8"));

function register(api) {
  const { command = ["wakebook"], home, lend } = api.pluginConfig ?? {};
  Object.assign(link.api ? link : link.calledBy(api), { config: { command, home, lend } });
  const ours = (work) => (...given) => (link.calledBy(api), work(...given));
  for (const [event, milliseconds] of Object.entries(HOOKS))
    api.on(event, ours((...a) => link.hook(event, ...a)), { timeoutMs: milliseconds + 500 });
  const steered = ours((said, ctx) => link.steer(said, ctx));
  api.registerAgentToolResultMiddleware?.(steered, { runtimes: ["openclaw"] });
  const offer = (ctx) => // who is not the owner may ask the memory, but not change it
    tools.filter(({ name }) => OFFERED.includes(name))
      .filter(({ readOnly }) => readOnly || ctx.senderIsOwner !== false)
      .map(({ readOnly, ...tool }) => ({ ...tool, catalogMode: "direct-only",
        execute: ours((_id, given) => link.tool(tool.name, given, ctx)) }));
  api.registerTool(offer, { names: OFFERED });
  api.registerService({ id: "wakebook", start: ours(() => {}), stop: () => link.stop() });
  const env = { ...process.env, ...(home && { WAKEBOOK_HOME: home }) };
  const run = (_arguments, _options, { args }) => new Promise((done) => {
    const child = spawn(command[0], [...command.slice(1), ...args], { stdio: "inherit", env });
    child.on("error", (error) => console.error(`wakebook: ${error.message}`));
    child.on("close", (code) => done((process.exitCode = code ?? 1)));
  });
  api.registerCli(({ program }) => program.command("wakebook").description(WHAT)
    .argument("[args...]").helpOption(false).allowUnknownOption().action(run),
  { descriptors: [{ name: "wakebook", description: WHAT, hasSubcommands: true }] });
}

export default definePluginEntry({ id: "wakebook", name: "Wakebook", description: WHAT, register });
