import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';
import type { Stage } from './stage.ts';

/** Checks that this server connects to the URL of the callback. */
export const checkCallbackUrl: Stage = (submission) => {
  const { config, validated } = submission;
  if (validated.callbackUrl === null) return;
  const policy = networkPolicyOf(config.network);
  const url = checkPublicUrl(validated.callbackUrl, 'callback_url', policy, 'callback');
  submission.callbackUrl = url.href;
};
