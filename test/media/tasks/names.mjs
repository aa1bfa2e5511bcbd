// Loaded into a daemon before all else: a name server that knows two names, both of this machine.

import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';

const ADDRESSES = { 'inside.example.com': '127.0.0.1', 'mapped.example.com': '::ffff:127.0.0.1' };

dns.Resolver = class {
  setServers() {}

  async resolve4(name) {
    const address = ADDRESSES[name];
    if (address === undefined || address.includes(':')) throw notFound(name);
    return [address];
  }

  async resolve6(name) {
    const address = ADDRESSES[name];
    if (address === undefined || !address.includes(':')) throw notFound(name);
    return [address];
  }
};
syncBuiltinESMExports();

function notFound(name) {
  return Object.assign(new Error(`queryA ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
}
