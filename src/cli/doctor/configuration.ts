import { failureOf } from '../../failure.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';
import { configured, type Finding, failed, judged, ok, type Run, warning } from './check.ts';

/** Faults in the report: a file that is no configuration has many. */
const MAX_FAULTS = 10;

const LOCAL = /^(localhost|127\..+|::1|\[::1\])$/;

export const configuration: Run = async ({ loaded, daemon }) => {
  if (!('config' in loaded)) {
    const faults = loaded.message.split('\n').slice(0, MAX_FAULTS);
    const isUnset = faults.every((fault) => fault.includes('environment variable'));
    const remedy = isUnset
      ? 'Run this command with the environment of the daemon.'
      : 'Correct the file: the daemon would not start or reload with it.';
    const finding = isUnset && daemon !== null ? warning : failed;
    return faults.map((fault) => finding(fault, remedy));
  }
  const found = loaded.warnings.map((text) => warning(text, 'Correct the setting.'));
  return found.length > 0 ? found : ok(loaded.file ?? 'no file, the defaults');
};

export const callbacks: Run = configured(
  async ({ network, alerts, callbacks: { secretOverlap }, server }) => {
    const findings: Finding[] = [];
    if (network.allowPrivateAddresses && !LOCAL.test(server.host)) {
      const text = 'network.allowPrivateAddresses: clients reach every server of your network';
      findings.push(warning(text, 'Name the servers that they need in network.allow instead.'));
    }
    if (secretOverlap === 0) {
      const text = 'callbacks.secretOverlap 0s: a rotation breaks receivers with the old secret';
      findings.push(warning(text, 'Set callbacks.secretOverlap to 24h.'));
    }
    for (const { name, url } of alerts.webhooks) {
      try {
        checkPublicUrl(url, null, networkPolicyOf(network), 'callback');
      } catch (error) {
        const text = `alerts.webhooks ${name}: ${failureOf(error).message}`;
        findings.push(failed(text, 'Add it to network.allow, or its port to callbackPorts there.'));
        continue;
      }
      const { protocol, hostname } = new URL(url);
      const isOpen = protocol === 'http:' && !LOCAL.test(hostname);
      const text = `alerts.webhooks ${name}: signed, ${isOpen ? 'over http: others can read it' : 'and private'}`;
      findings.push(judged(text, { warns: isOpen }, 'Use an https address.'));
    }
    const ports = network.callbackPorts.join(', ');
    return findings.length > 0
      ? findings
      : ok(`signed by each account's secret, to public addresses at the ports ${ports}`);
  },
);
