// Wakebook for OpenClaw: a thin shim. Everything is decided by one child, `wakebook link openclaw`,
// which lives as long as the gateway and speaks JSON lines on its standard input and output.
// Nothing here throws into the host: without the memory, a turn goes on as if there were none.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const WHAT = "The memory: every command of Wakebook (log, search, status, doctor ...)";
const OFFERED = ["memory_search", "memory_get", "remember", "forget"];
const TOOL_MS = 30_000;
const STOP_MS = 6_000; // the child finishes what it has begun within 5 s
const LONGEST_PAUSE_MS = 60_000; // before a child that died is started again
const HOOKS = { // milliseconds that each may take
  before_prompt_build: 2_500,
  agent_end: 5_000,
  before_compaction: 25_000,
  before_reset: 5_000,
  session_end: 1_500, // at shutdown, all plugins share 2 s
  gateway_start: 10_000,
};

class Link {
  child = null;
  calls = new Map(); // id -> what to do with the answer
  last = 0;
  deaths = 0; // in a row
  pause = null; // the timer until the next start
  warn = (text) => this.api.logger?.warn?.(`wakebook: ${text}`);

  start() {
    if (this.child || this.pause) return;
    const { command, home, lend } = this.config;
    const options = [...(home ? ["--home", home] : []), ...(lend ? ["--lend"] : [])];
    const child = spawn(command[0], [...command.slice(1), "link", "openclaw", ...options]);
    this.child = child;
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
    const again = () => ((this.pause = null), this.start());
    this.pause = setTimeout(again, milliseconds).unref();
  }

  heard(child, line) {
    try {
      const { id, ask, result, error, ...question } = JSON.parse(line);
      if (ask !== undefined) return void this.lend(child, ask, question);
      this.deaths = 0;
      this.calls.get(id)?.(error === undefined ? (result ?? {}) : { lost: error });
    } catch {
      this.warn(`not understood: ${line.slice(0, 200)}`);
    }
  }

  // The child has no model of its own and asks the one that the user gave this agent.
  async lend(child, answer, { system: systemPrompt, prompt, maxTokens }) {
    try {
      const messages = [{ role: "user", content: prompt }];
      const question = { messages, systemPrompt, maxTokens, purpose: "wakebook" };
      const { text } = await this.api.runtime.llm.complete(question);
      this.send(child, { answer, text });
    } catch (error) {
      this.send(child, { answer, error: String(error?.message ?? error) });
    }
  }

  send(child, message) {
    if (child.stdin.writable) child.stdin.write(JSON.stringify(message) + "\n");
  }

  call(request, milliseconds) {
    return new Promise((resolve) => {
      try { this.start(); } catch (error) { this.warn(error.message); }
      if (!this.child) return resolve({ lost: "it is started again soon" });
      const id = ++this.last;
      const answered = (answer) => (clearTimeout(timer), this.calls.delete(id), resolve(answer));
      const timer = setTimeout(answered, milliseconds, { lost: "no answer in time" });
      this.calls.set(id, answered);
      this.send(this.child, { id, ...request });
    });
  }

  async hook(event, said, ctx) {
    const { sessionId: session, sessionKey: key, trigger, reason, ...more } = { ...ctx, ...said };
    const prompt = more.currentUserMessage ?? more.prompt;
    const request = { call: "hook", event, payload: { session, key, trigger, reason, prompt } };
    const told = await this.call(request, HOOKS[event]);
    if (told.lost || told.systemMessage) this.warn(`${event}: ${told.lost ?? told.systemMessage}`);
    return told.prependContext ? { prependContext: told.prependContext } : undefined;
  }

  async tool(name, given, { sessionId: session, sessionKey: key }) {
    const request = { call: "tool", name, arguments: given ?? {}, session, key };
    const { text, data, lost } = await this.call(request, TOOL_MS);
    const sorry = `The memory did not answer (${lost}). Go on without it, and say so.`;
    return { content: [{ type: "text", text: lost ? sorry : text }], details: data ?? { lost } };
  }

  async stop() { // the child finishes what it was given; a later call starts another one
    const child = this.child;
    clearTimeout(this.pause);
    this.child = this.pause = null;
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
  Object.assign(link, { api, config: { command, home, lend } });
  for (const [event, milliseconds] of Object.entries(HOOKS)) {
    const fired = (said, ctx) => link.hook(event, said, ctx);
    api.on(event, fired, { timeoutMs: milliseconds + 500 });
  }
  const offer = (ctx) => // who is not the owner may ask the memory, but not change it
    tools.filter(({ name }) => OFFERED.includes(name))
      .filter(({ readOnly }) => readOnly || ctx.senderIsOwner !== false)
      .map(({ readOnly, ...tool }) => ({ ...tool, catalogMode: "direct-only",
        execute: (_id, given) => link.tool(tool.name, given, ctx) }));
  api.registerTool(offer, { names: OFFERED });
  api.registerService({ id: "wakebook", start() {}, stop: () => link.stop() });
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
