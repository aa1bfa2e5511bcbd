import { headersOf, isRemote } from '../../config/providers/provider-kinds.ts';
import { codedFailure, Failure } from '../../failure.ts';
import { MAX_REDIRECTS, REDIRECT_STATUSES } from '../../upstream/fetch-public.ts';
import type { NetworkPolicy } from '../../upstream/network-policy.ts';
import { checkPublicUrl } from '../../upstream/public-url.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { OutputFile, ProviderContext } from '../provider/provider.ts';

export interface DownloadOptions
  extends Pick<ProviderContext, 'settings' | 'upstream' | 'timeouts' | 'signal'> {
  /** Policy for files outside the provider's origin. */
  readonly networkPolicy: NetworkPolicy;
}

/** Code of a failure that a retry may overcome. */
const UNAVAILABLE = 'download_unavailable';

/** Statuses that may change within seconds; object storages answer 404 for files that are new. */
const TRANSIENT_STATUSES = [404, 408, 425, 429];

/**
 * Opens a file that a provider made. The provider's own origin, which the operator configured, is connected to
 * directly and gets the key where the file needs it; every other origin is subject to the network policy.
 *
 * @returns a response with status 200, its body still to come
 * @throws Failure
 */
export async function openDownload(
  { url, needsKey }: Extract<OutputFile, { readonly url: string }>,
  { upstream, settings, networkPolicy, timeouts, signal }: DownloadOptions,
): Promise<UpstreamResponse> {
  const provider = isRemote(settings) ? settings : null;
  const providerOrigin = provider && new URL(provider.baseUrl).origin;
  const headers = needsKey && provider ? headersOf(provider) : {};
  let address = url;
  let isForeign = false;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const isProvider =
      providerOrigin !== null &&
      URL.canParse(address) &&
      new URL(address).origin === providerOrigin;
    // For good: a redirect from another origin back to the provider was not the provider's choice.
    isForeign ||= !isProvider;
    const open = async () => {
      if (!isProvider) checkPublicUrl(address, null, networkPolicy, 'result');
      const { pathname, search } = new URL(address);
      return upstream.open(address, {
        exchange: { model: 'results', path: pathname + search },
        // Clients may not learn where a provider stores its files.
        ...(providerOrigin !== null && { name: 'The server of the file' }),
        method: 'GET',
        headers: isForeign ? {} : headers,
        timeouts,
        signal,
        ...(isForeign ? { networkPolicy } : { proxy: provider?.proxy }),
      });
    };
    const response = await open().catch((error: unknown) => {
      throw error instanceof Failure ? withoutAddress(error) : error;
    });
    const { status } = response;
    if (status === 200) return response;
    response.abort();
    const location = response.headers['location'];
    if (
      !REDIRECT_STATUSES.includes(status) ||
      location === undefined ||
      !URL.canParse(location, address)
    ) {
      const isTransient = TRANSIENT_STATUSES.includes(status) || status >= 500;
      throw new Failure('service_error', `its address answered ${status}`, {
        code: isTransient ? UNAVAILABLE : 'download_refused',
      });
    }
    address = new URL(location, address).href;
  }
  throw codedFailure('download_refused', `its address redirects more than ${MAX_REDIRECTS} times`);
}

/** Removes the host from a refusal's message: the provider chose it, and clients may not learn it. */
function withoutAddress(failure: Failure): Failure {
  const { type, code, status, message: detail, cause } = failure;
  if (type !== 'invalid_request') return failure;
  const message = 'its address is one that this server does not connect to';
  return new Failure(type, message, { status, detail, cause, originalCode: code });
}

/** Whether a retry of a failed download may succeed. */
export function isTransientFailure({ type, code }: Failure): boolean {
  return type === 'network_error' || type === 'timeout' || code === UNAVAILABLE;
}
