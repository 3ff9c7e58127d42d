// The TypeScript SDK of the 1.x line, which most clients still ship.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Tally, askingServer, everything, server, writing } from './checks.mjs';

const tally = new Tally('@modelcontextprotocol/sdk');
const client = new Client({ name: 'check', version: '0' });
const connected = await tally.expect('it connects', async () => {
  await client.connect(new StdioClientTransport(server));
  return true;
});
if (connected) {
  await everything(tally, client);
  await tally.expect('ping works', () => client.ping());
  await tally.expect('it closes', () => client.close());
}
await writing(
  tally,
  async (answer) => {
    const client = new Client({ name: 'check', version: '0' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, async (request) => answer(request.params.message));
    await client.connect(new StdioClientTransport(askingServer));
    return client;
  },
  (client, params, options) => client.callTool(params, undefined, options),
);
tally.close();
process.exit();
