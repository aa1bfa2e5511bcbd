import { NetworkPolicy, type NetworkSettings } from '../../src/upstream/network-policy.ts';

/** The settings of a configuration that says nothing, but for what a test changes. */
export function networkSettings(changes: Partial<NetworkSettings> = {}): NetworkSettings {
  return {
    allowPrivateAddresses: false,
    inputPorts: [80, 443],
    callbackPorts: [80, 443],
    deny: [],
    allow: [],
    ...changes,
  };
}

export function networkPolicy(changes: Partial<NetworkSettings> = {}): NetworkPolicy {
  return new NetworkPolicy(networkSettings(changes));
}

const EVERY_PORT = ['1-65535'];

/** Public addresses at any port, as servers in tests have them. */
export const PUBLIC = networkPolicy({ inputPorts: EVERY_PORT, callbackPorts: EVERY_PORT });

export const ANYWHERE = networkPolicy({ allowPrivateAddresses: true });
