import { invalid } from '../../schema/invalid.ts';
import { type NetworkPolicy, networkPolicyOf } from '../../upstream/network-policy.ts';
import { checkPublicUrl, foreignLetters } from '../../upstream/public-url.ts';
import type { Inspection } from '../dialects/inspection.ts';
import { forwardedHeaders } from '../execution/execution.ts';
import { mayLeaveServer } from '../execution/model-routes.ts';
import { Allowance } from '../policy/allowance.ts';
import type { Stage } from './stage.ts';

/** Finds the features and addresses that the request uses, and what the account may use of them. */
export const inspectRequest: Stage = (execution) => {
  const { call, config, model } = execution;
  execution.allowance = new Allowance(execution.modelId, model, call.holder);
  execution.forwarded = forwardedHeaders(call, execution.allowance);
  execution.inspect();
  if (mayLeaveServer(model, config)) {
    checkAddresses(execution.inspection, networkPolicyOf(config.network));
  }
};

/** Names of hosts in the provider's own network: single labels and local domains. */
const INTERNAL =
  /^[^.]+\.?$|\.(corp|home\.arpa|internal|intranet|lan|local|localdomain|private)\.?$/;

/** Characters of hosts with letters of other scripts in one request, which take 0.1 s to parse. */
const MAX_FOREIGN_LETTERS = 5000;

/**
 * Refuses addresses of private networks in a request: a provider that runs there would read them.
 * Names are not resolved, since the provider resolves them again.
 *
 * @throws Failure invalid_request
 */
export function checkAddresses({ addresses }: Inspection, network: NetworkPolicy): void {
  let letters = 0;
  for (const { url, path } of addresses) {
    letters += foreignLetters(url);
    if (letters > MAX_FOREIGN_LETTERS) {
      throw invalid(path, 'too many hosts with letters beyond ASCII in the addresses of a request');
    }
    // Every port is allowed, since the provider connects.
    const { hostname } = checkPublicUrl(url, path, network, 'result');
    const isAddress = hostname.startsWith('[') || /^[\d.]+$/.test(hostname);
    if (isAddress || network.allowsName(hostname) || !INTERNAL.test(hostname)) continue;
    throw invalid(path, `${hostname} is a name of a private network`, 'private_address');
  }
}
