// OpenClaw's plugin API as far as our plugin uses it. The plugin is loaded twice and registered
// twice, as the gateway does; then every line of standard input is an order, answered by a line.
//   node openclaw_api.mjs PLUGIN_FOLDER CONFIG_JSON

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, config] = process.argv.slice(2);
const warned = [];
const asked = [];
let answer = "";

function host() {
  const made = { hooks: {}, services: [], offer: null, cli: null };
  const complete = async (question) => {
    if (made.retired) throw new Error("Plugin inventory has retired; begin a new plugin operation.");
    asked.push(question);
    if (!answer) throw new Error("no model is configured");
    return { text: answer };
  };
  made.api = {
    pluginConfig: JSON.parse(config),
    logger: { warn: (text) => warned.push(text) },
    runtime: { llm: { complete } },
    on: (name, handler, options) => (made.hooks[name] = { handler, options }),
    registerTool: (offer, options) => Object.assign(made, { offer, names: options.names }),
    registerService: (service) => made.services.push(service),
    registerCli: (register) => (made.cli = register),
    registerAgentToolResultMiddleware: (middleware) => (made.middleware = middleware),
  };
  return made;
}

const hosts = [];
for (const time of ["full", "discovery"]) {
  const plugin = await import(`${pathToFileURL(folder)}/index.js?${time}`);
  const made = host();
  plugin.default.register(made.api);
  hosts.push(made);
}
const [first, second] = hosts;

const orders = {
  hook: ({ name, event, ctx }) => first.hooks[name].handler(event ?? {}, ctx ?? {}),
  hooks: () => Object.keys(first.hooks),
  tools: ({ ctx }) => second.offer(ctx ?? {}).map(({ execute, ...tool }) => tool),
  names: () => second.names,
  tool: ({ name, given, ctx }) =>
    second.offer(ctx ?? {}).find((tool) => tool.name === name).execute("call_1", given),
  result: ({ event, ctx }) => first.middleware(event, ctx),
  retire: ({ both }) => void Object.assign(second, { retired: true }, (first.retired = both)),
  reload: () => void (first.retired = false),
  stop: () => first.services[0].stop(),
  model: ({ text }) => void (answer = text),
  asked: () => asked,
  warned: () => warned,
  cli: async ({ args }) => {
    let run;
    const command = new Proxy({}, { get: (_, name) => (value) => {
      if (name === "action") run = value;
      return command;
    } });
    first.cli({ program: command });
    await run(args, {}, { args });
    const code = process.exitCode;
    process.exitCode = 0;
    return code;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  const work = Promise.resolve(orders[order.do](order));
  const said = (answered) => process.stdout.write(`@${JSON.stringify(answered)}\n`);
  if (order.later) work.then((result) => said({ later: order.later, result: result ?? null }));
  else said(await work.then((result) => ({ result: result ?? null }), (error) => ({ thrown: String(error) })));
}
