// What every client of the TypeScript SDKs is put through: each tool, with calls that must work and calls
// that must be refused, each prompt, resource and completion. The SDKs validate structured content against the output schema by themselves.
//
// The closing line is `NAME: N passed, N failed`.

import { readFileSync } from 'node:fs';

/** The program, and the file with the example calls. */
const [program, examples] = process.argv.slice(2);
const { settings, tools: calls, prompts, fixed: own, resources, completions } = JSON.parse(readFileSync(examples, 'utf8'));

/** How the program is started. */
export const server = {
  command: program,
  args: ['--demo'],
  env: settings,
  stderr: 'ignore',
};

/** Counts checks under one name. */
export class Tally {
  passed = 0;
  failed = 0;

  constructor(name) {
    this.name = name;
  }

  check(what, holds, found) {
    if (holds) {
      this.passed += 1;
      return;
    }
    this.failed += 1;
    console.log(`FAILED ${this.name}: ${what}`);
    if (found !== undefined) console.log('       found:', JSON.stringify(found)?.slice(0, 1500));
  }

  /** Runs `work`, whose failure is a failed check. */
  async expect(what, work) {
    try {
      return await work();
    } catch (error) {
      this.check(what, false, String(error));
      return undefined;
    }
  }

  close() {
    console.log(`${this.name}: ${this.passed} passed, ${this.failed} failed`);
    if (this.failed > 0 || this.passed === 0) process.exitCode = 1;
  }
}

/** The arguments, with `$TOOL.TABLE.COLUMN` replaced by what the first row of that tool's answer has there. */
async function filled(client, args) {
  const values = Object.entries(args).map(async ([name, value]) => {
    if (typeof value !== 'string' || !value.startsWith('$')) return [name, value];
    const [tool, table, column] = value.slice(1).split('.');
    const { columns, rows } = (await client.callTool({ name: tool, arguments: {} })).structuredContent[table];
    return [name, rows[0][columns.indexOf(column)]];
  });
  return Object.fromEntries(await Promise.all(values));
}

/** Puts a connected client through everything. */
export async function everything(tally, client) {
  const info = client.getServerVersion();
  tally.check('the server has a name', info === undefined || info.name === 'mcp-proxmox', info);
  tally.check('the server gives instructions', (client.getInstructions() ?? '').length > 0);
  const { tools } = (await tally.expect('tools/list works', () => client.listTools())) ?? { tools: [] };
  const listed = tools.map(({ name }) => name).sort();
  tally.check('every tool of the examples is listed', JSON.stringify(listed) === JSON.stringify(Object.keys(calls).sort()), listed);
  for (const { name, outputSchema } of tools) {
    for (const written of calls[name] ?? []) {
      const args = await tally.expect(`${name} has arguments`, () => filled(client, written));
      if (args === undefined) continue;
      const what = `${name} ${JSON.stringify(args)}`;
      const got = await tally.expect(`${what} is answered`, () => client.callTool({ name, arguments: args }));
      if (got === undefined) continue;
      tally.check(`${what} works`, !got.isError && got.content.length > 0, got);
      tally.check(`${what} is structured where it says so`, (outputSchema !== undefined) === (got.structuredContent !== undefined), got);
    }
    const refused = await tally.expect(`${name} answers to an argument that does not exist`, () =>
      client.callTool({ name, arguments: { no_such_argument: 1 } }),
    );
    tally.check(`${name} refuses an argument that does not exist`, refused?.isError === true, refused);
  }
  let code;
  try {
    code = (await client.callTool({ name: 'no_such_tool', arguments: {} })).isError;
  } catch (error) {
    code = error.code;
  }
  tally.check('an unknown tool is a protocol error', code === -32602, code);
  await beside(tally, client);
}

/** Every prompt, resource and completion. */
async function beside(tally, client) {
  const names = (list) => JSON.stringify([...list].sort());
  const listed = (await tally.expect('prompts/list works', () => client.listPrompts()))?.prompts ?? [];
  const found = names(listed.map(({ name }) => name));
  tally.check('every prompt of the examples is listed', found === names(Object.keys(prompts)), found);
  for (const [name, written] of Object.entries(prompts)) {
    for (const args of written) {
      const what = `${name} ${JSON.stringify(args)}`;
      const got = await tally.expect(`${what} is got`, () => client.getPrompt({ name, arguments: args }));
      tally.check(`${what} has a text`, got?.messages[0]?.content?.text?.length > 0, got);
    }
  }
  const templates = (await tally.expect('resources/templates/list works', () => client.listResourceTemplates()))?.resourceTemplates ?? [];
  const offered = names(templates.map(({ uriTemplate }) => uriTemplate));
  tally.check('every template of the examples is listed', offered === names(resources.map(({ template }) => template)), offered);
  const fixed = (await tally.expect('resources/list works', () => client.listResources()))?.resources ?? [];
  const uris = fixed.map(({ uri }) => uri);
  tally.check('every resource with an address of its own is listed', names(uris) === names(own), uris);
  for (const { template, value } of resources) {
    const args = await tally.expect(`${template} has a value`, () => filled(client, { value }));
    if (args !== undefined) uris.push(template.replace(/{.*}/, encodeURIComponent(args.value)));
  }
  for (const uri of uris) {
    const got = await tally.expect(`${uri} is read`, () => client.readResource({ uri }));
    const holds = (got?.contents ?? []).map(({ text, blob }) => text ?? blob);
    tally.check(`${uri} has content`, holds.length > 0 && holds.every((content) => content.length > 0), got);
  }
  let missing;
  try {
    missing = await client.readResource({ uri: 'pve://vms/999' });
  } catch (error) {
    missing = error.code;
  }
  tally.check('a resource that is not there is a protocol error', missing === -32002 || missing === -32602, missing);
  for (const { prompt, template, argument, typed, finds } of completions) {
    const ref = prompt === undefined ? { type: 'ref/resource', uri: template } : { type: 'ref/prompt', name: prompt };
    const what = `${prompt ?? template} ${argument} ${typed}`;
    const got = await tally.expect(`${what} is completed`, () => client.complete({ ref, argument: { name: argument, value: typed } }));
    const { values = [] } = got?.completion ?? {};
    tally.check(`${what} finds ${finds}`, values.length <= 100 && values.some((value) => value.startsWith(finds)), got);
  }
}

/** The same program, which asks a person before what is hard. */
export const askingServer = { ...server, env: { PVE_ACCESS_TIER: 'write', PVE_CONFIRM: 'destructive' } };

/**
 * Questions, progress and cancellation. `connect(answer)` hands out a client whose user answers each question
 * with what `answer` makes of its text; `call(client, params, options)` calls a tool.
 */
export async function writing(tally, connect, call) {
  for (const [answer, outcome] of [
    [{ action: 'accept', content: { confirm: true } }, 'done'],
    [{ action: 'accept', content: { confirm: false } }, 'declined'],
    [{ action: 'decline' }, 'declined'],
    [{ action: 'cancel' }, 'unanswered'],
  ]) {
    const what = `a user who says ${JSON.stringify(answer)}`;
    await tally.expect(what, async () => {
      const asked = [];
      const client = await connect((message) => (asked.push(message), answer));
      const got = await call(client, { name: 'stop_vm', arguments: { vm: '205' } });
      tally.check(`${what} leads to ${outcome}`, got.structuredContent?.outcome === outcome, got);
      tally.check(`${what} is asked once, about the guest`, asked.length === 1 && asked[0].includes('205'), asked);
      await client.close();
    });
  }
  await tally.expect('progress and cancellation', async () => {
    const client = await connect(() => ({ action: 'decline' }));
    const told = [];
    const started = await call(client, { name: 'start_vm', arguments: { vm: '126' } }, { onprogress: (step) => told.push(step.progress) });
    tally.check('a start is done', started.structuredContent?.outcome === 'done', started);
    tally.check('its progress is told, always forward', told.length > 1 && told.every((step, nth) => nth === 0 || step > told[nth - 1]), told);
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 500);
    let cancelled = false;
    try {
      await call(client, { name: 'shutdown_vm', arguments: { vm: '126' } }, { signal: abort.signal });
    } catch {
      cancelled = true;
    }
    tally.check('a call can be cancelled', cancelled);
    // What was begun goes on, and is found.
    const next = await call(client, { name: 'start_vm', arguments: { vm: '126' } });
    tally.check('the shutdown that goes on is found', JSON.stringify(next).includes('qmshutdown'), next);
    await client.close();
  });
}
