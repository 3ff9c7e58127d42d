// The TypeScript client of the 2.x line, in each of its three ways to agree on a revision.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Tally, askingServer, everything, server, writing } from './checks.mjs';

const modern = '2026-07-28';

for (const mode of ['legacy', 'auto', { pin: modern }]) {
  const tally = new Tally(`@modelcontextprotocol/client ${JSON.stringify(mode).replaceAll('"', '')}`);
  const client = new Client({ name: 'check', version: '0' }, { versionNegotiation: { mode } });
  const connected = await tally.expect('it connects', async () => {
    await client.connect(new StdioClientTransport(server));
    return true;
  });
  if (connected) {
    const agreed = client.getNegotiatedProtocolVersion();
    tally.check('it agrees on the revision that it is made for', (mode === 'legacy') === (agreed !== modern), agreed);
    console.log(`${tally.name} speaks ${agreed}`);
    await everything(tally, client);
    await tally.expect('it closes', () => client.close());
  }
  await writing(
    tally,
    async (answer) => {
      const options = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } };
      const client = new Client({ name: 'check', version: '0' }, options);
      client.setRequestHandler('elicitation/create', async (request) => answer(request.params.message));
      await client.connect(new StdioClientTransport(askingServer));
      return client;
    },
    (client, params, options) => client.callTool(params, options),
  );
  tally.close();
}
// The SDK may keep handles open.
process.exit();
