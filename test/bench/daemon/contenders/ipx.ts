import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// Images of a folder by URL, as the documentation of ipx shows it. Arguments: the module of ipx, and the folder.

/** The part that is used, so that the benchmark needs no types of the peer. */
interface Ipx {
  createIPX(options: object): object;
  ipxFSStorage(options: { readonly dir: string }): object;
  createIPXNodeServer(ipx: object): Parameters<typeof createServer>[1];
}

const [module = '', dir = ''] = process.argv.slice(2);
const { createIPX, ipxFSStorage, createIPXNodeServer } = (await import(module)) as Ipx;
const server = createServer(createIPXNodeServer(createIPX({ storage: ipxFSStorage({ dir }) })));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  process.stdout.write(`${JSON.stringify({ url, msg: 'ready' })}\n`);
});
process.once('SIGTERM', () => process.exit());
