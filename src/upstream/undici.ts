import { createRequire } from 'node:module';
import type * as undici from 'undici';

// The parts of undici that requests need. Its index also loads fetch, WebSockets, caches and mocks: two thirds of its
// time at the start (50 ms of CPU), and 9 MB.
const require = createRequire(import.meta.url);

export const Agent: typeof undici.Agent = require('undici/lib/dispatcher/agent.js');
export const EnvHttpProxyAgent: typeof undici.EnvHttpProxyAgent = require('undici/lib/dispatcher/env-http-proxy-agent.js');
export const Pool: typeof undici.Pool = require('undici/lib/dispatcher/pool.js');
export const ProxyAgent: typeof undici.ProxyAgent = require('undici/lib/dispatcher/proxy-agent.js');
export const buildConnector: typeof undici.buildConnector = require('undici/lib/core/connect.js');
/** Loaded for the first form, because it loads the standard's checks of types, too. */
export const newForm = (): undici.FormData =>
  new (require('undici/lib/web/fetch/formdata.js') as typeof undici).FormData();

// A proxy's tunnel begins with this method, which the index adds together with others.
const { prototype }: typeof undici.Dispatcher = require('undici/lib/dispatcher/dispatcher.js');
prototype.connect = require('undici/lib/api/api-connect.js');
