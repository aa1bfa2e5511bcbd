import type { ProviderTest, TestReport } from '../administration/catalog-context.ts';
import { catalogModel } from '../config/import/price-catalog.ts';
import {
  dialectFor,
  isRemote,
  keysOf,
  kindOf,
  type RemoteProvider,
  secretsOf,
} from '../config/providers/provider-kinds.ts';
import { Failure, failureOf } from '../failure.ts';
import { openProvider } from '../routing/provider-request.ts';
import { keysRedactor } from '../routing/redaction.ts';
import { tryParseJson } from '../schema/json.ts';
import { objectOf, objectsOf, textOf } from '../schema/untrusted.ts';
import { UpstreamClient } from '../upstream/client.ts';
import { NetworkPolicy } from '../upstream/network-policy.ts';
import type { Upstream } from '../upstream/response.ts';
import { invalidAnswer } from './dialects/answer-errors.ts';
import { chat } from './dialects/chat/chat.ts';
import type { Target } from './dialects/dialect.ts';
import { dialectNamed } from './dialects/registry.ts';
import { readJson } from './relay/upstream-response.ts';

/** Milliseconds for the list and for the answer; the command waits 30 s for the daemon. */
const LIST_MS = 8000;
const ANSWER_MS = 18_000;

const TIMEOUTS = { connect: 5000, firstByte: 0, idle: 0 };

/** Bytes of a list of models: that of a provider with 400 models has 1 MB. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;

/** Characters of a name in a list; none is longer. */
const MAX_NAME = 256;

/** Characters of an answer in a report. */
const MAX_ANSWER = 200;

/** Models by their names that give no answer in text. */
const OTHER_MODELS =
  /embed|whisper|tts|dall-e|image|audio|realtime|moderation|transcribe|rerank|sora|video|live/i;

const NO_MODEL = new Failure('invalid_request', 'no model to ask is known');

/** Asks a provider for its list of models and for one short answer. Never throws for what the provider does. */
export async function testProvider({
  provider: configured,
  model,
  dialect,
  network,
}: ProviderTest): Promise<TestReport> {
  const began = performance.now();
  if (!isRemote(configured)) {
    const answer = 'the embedded models need no test';
    const none = { offered: null, fault: null, advice: null, cause: null, milliseconds: 0 };
    return { ...none, listFault: 'it is embedded', model, answer };
  }
  const redact = keysRedactor(secretsOf(configured));
  const [apiKey] = keysOf(configured);
  const provider = apiKey === undefined ? configured : { ...configured, apiKey };
  const client = new UpstreamClient();
  const upstream = guarded(client, provider, network);
  try {
    const offered = await listModels(upstream, provider).catch(failureOf);
    const names = offered instanceof Failure ? null : offered;
    const asked = model ?? chosenModel(provider, names ?? []);
    // Without a list there is no model to ask: its failure says more.
    const answer =
      asked === null
        ? names
          ? NO_MODEL
          : (offered as Failure)
        : await askModel(upstream, provider, { model: asked, dialect }).catch(failureOf);
    const cause = answer instanceof Failure ? answer : null;
    return {
      offered: names,
      listFault: offered instanceof Failure ? redact(wordsOf(offered)) : null,
      model: asked,
      answer: answer instanceof Failure ? null : redact(answer),
      fault: cause && redact(wordsOf(cause)),
      advice: cause && adviceFor(cause, asked),
      cause,
      milliseconds: Math.round(performance.now() - began),
    };
  } finally {
    client.close();
  }
}

/** Sends requests where the configuration lets the operator's providers be: not to cloud metadata. */
function guarded(
  client: UpstreamClient,
  { proxy }: RemoteProvider,
  network: ProviderTest['network'],
): Upstream {
  if (proxy !== undefined) return client;
  const networkPolicy = new NetworkPolicy({ ...network, allowPrivateAddresses: true });
  return { open: (url, request) => client.open(url, { ...request, networkPolicy }) };
}

/** The provider's own words, with the status before them; those of this program where there are none. */
function wordsOf({ detail, message, type }: Failure): string {
  return detail !== null && type !== 'network_error' ? detail : message;
}

const KEY_ADVICE = 'check the API key or the identity, and what it may use at the provider';
const NO_LIST_ADVICE =
  'check the base URL: most end with /v1; if the provider has no list of models, name a model for the test';
const CREDIT_ADVICE = 'the account at the provider has no credit left, or asks too often';

/** What to do, by the status of the provider's answer. */
const ADVICE: Readonly<Record<number, string>> = {
  401: KEY_ADVICE,
  402: CREDIT_ADVICE,
  403: KEY_ADVICE,
  404: "check the model's name, and the base URL: most end with /v1",
  429: CREDIT_ADVICE,
};

/** @param model the model that was asked; null for a failure of the list of models */
function adviceFor(failure: Failure, model: string | null): string {
  const { type, status, upstreamStatus, message } = failure;
  if (failure === NO_MODEL) return 'name a model of the provider for the test';
  if (/certificate/i.test(message)) {
    return 'start the daemon with NODE_EXTRA_CA_CERTS=FILE, where FILE has the certificate of the authority';
  }
  if (type === 'network_error' || type === 'timeout') {
    return 'check the address, and whether this machine reaches it';
  }
  if (model === null && upstreamStatus === 404) return NO_LIST_ADVICE;
  return (
    ADVICE[upstreamStatus ?? status] ?? 'check the base URL, the kind and the model of the provider'
  );
}

/** Names of the models that a provider lists. */
async function listModels(upstream: Upstream, provider: RemoteProvider): Promise<string[]> {
  const { headers } = dialectNamed(kindOf(provider).defaultDialect ?? 'chat');
  const exchange = await openProvider(upstream, provider, {
    ...{ path: '/models', model: '', headers },
    timeouts: { ...TIMEOUTS, total: LIST_MS },
    signal: new AbortController().signal,
  });
  const text = (await exchange.bytes(MAX_LIST_BYTES)).toString();
  const { data, models, modelSummaries, publisherModels } = objectOf(tryParseJson(text));
  const list = [data, models, modelSummaries, publisherModels].find(Array.isArray);
  if (list === undefined) {
    throw invalidAnswer('an answer without a list of models');
  }
  // Gemini names a model as models/NAME, Vertex as publishers/google/models/NAME.
  const names = objectsOf(list).map(
    ({ id, modelId = id, name }) => textOf(modelId) || textOf(name),
  );
  return names
    .map((name) => name.replace(/^(?:publishers\/[^/]+\/)?models\//, ''))
    .filter((name) => name !== '' && name.length <= MAX_NAME);
}

/** A model that a short answer costs little of: the cheapest with a price, or else the first. */
function chosenModel(provider: RemoteProvider, names: readonly string[]): string | null {
  const texts = names.filter((name) => !OTHER_MODELS.test(name));
  const priced = texts.flatMap((name) => {
    const known = catalogModel(provider, name, {});
    const output = known?.type === 'text' && !known.isResponses ? known.price['output'] : undefined;
    return typeof output === 'number' ? [{ name, output }] : [];
  });
  priced.sort((one, other) => one.output - other.output);
  return priced[0]?.name ?? texts[0] ?? null;
}

/** A short answer of a model, in the format that requests for it have. */
async function askModel(
  upstream: Upstream,
  provider: RemoteProvider,
  { model, dialect: named }: { readonly model: string; readonly dialect: string | undefined },
): Promise<string> {
  const messages = [{ role: 'user', content: 'Reply with the word OK.' }];
  const request = chat.decodeRequest({ model, messages });
  const dialect = dialectNamed(dialectFor({ dialect: named, model }, provider, 'chat'));
  const target: Target = {
    ...{ dialect: dialect.name, provider: '', model, rules: null },
    ...{ reasons: false, maxOutputTokens: null },
  };
  const exchange = await openProvider(upstream, provider, {
    path: dialect.path(target, false),
    model,
    headers: dialect.headers,
    json: dialect.encodeRequest(request, target),
    timeouts: { ...TIMEOUTS, total: ANSWER_MS },
    signal: new AbortController().signal,
  });
  const answer: string[] = [];
  const decoder = dialect.decodeEvents({ provider: '', toolName: (name) => name }, (event) => {
    if (event.type === 'text-delta') answer.push(event.text);
    if (event.type === 'error') throw event.failure;
  });
  decoder.whole(await readJson(exchange));
  const text = answer.join('').replace(/\s+/g, ' ').trim().slice(0, MAX_ANSWER);
  return text === '' ? 'an answer without text' : text;
}
