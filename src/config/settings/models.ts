import * as v from 'valibot';
import {
  day,
  field,
  integer,
  number,
  optional,
  section,
  withDefault,
} from '../../schema/fields.ts';
import { KEPT_BODIES } from '../../store/account.ts';
import { FEATURES, REFERENCES } from '../../store/features.ts';
import { identifier, modelIdentifier, text } from '../fields/text.ts';
import { credits, duration, size } from '../fields/units.ts';
import type { ModelType } from '../providers/provider-kind.ts';
import { DIALECT_NAMES, isFieldName } from './dialects.ts';

/** Size of a model's cached answers where the model sets none: a key can have a cache for any model. */
export const DEFAULT_CACHE_SIZE = '256MB';

/** Efforts of reasoning, the lowest first. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

const seconds = v.pipe(
  day(),
  v.transform((value) => Date.parse(value) / 1000),
);

const alias = v.pipe(
  identifier(),
  v.metadata({ expects: 'a name of letters, digits and . _ : / @ + -, 128 at most' }),
);

const about = {
  aliases: optional(v.array(alias), 'Additional names that requests may use for the model.', {
    expects: 'a list of names',
  }),
  name: optional(text(), 'Name in the catalog.'),
  description: optional(text(), 'Description in the catalog.'),
  created: optional(seconds, 'Release date in the catalog.'),
  ownedBy: withDefault(text(), 'oriel', 'Owner in the catalog.'),
  requestBodies: optional(
    v.picklist(KEPT_BODIES),
    'Of which requests for the model the log keeps the bodies. Unset: requests.bodies.',
    { example: 'errors' },
  ),
};

const route = {
  provider: field(text(), 'The name of a provider.'),
  model: field(
    text(),
    "The provider's name of the model; a * in it stands for what the * in the model's identifier stood for.",
  ),
  priority: withDefault(number(0, 1_000_000), 1, 'Routes of higher priority are tried first.'),
  weight: optional(
    number(0, 1_000_000),
    'Share of the requests that begin at this route, among routes of its priority: 3 gets three times as many as 1. 0: ' +
      'only when the others fail. Unset: 1 where another route has a weight; else routes are tried as written.',
  ),
};

/** A route of a model that is charged by tokens. */
const tokenRoute = {
  ...route,
  cost: optional(
    v.strictObject({
      input: withDefault(number(0), 0, 'Per million tokens of input.'),
      output: withDefault(number(0), 0, 'Per million tokens of output.'),
    }),
    'What the provider charges you, in any currency. Only order: cost reads it; clients pay the price of the model.',
  ),
};

const order = optional(
  v.picklist(['latency', 'cost']),
  'How routes of the same priority are tried. latency: the fastest first, by the median time to the first token of ' +
    'recent streams (or to the whole answer of requests that do not stream); about one request in ten tries any route ' +
    'first. cost: the cheapest first, by three parts cost.input to one part cost.output. unset: by weight, or as written',
);

const routes = <const Route extends v.GenericSchema>(schema: Route) =>
  field(
    v.pipe(v.array(schema), v.nonEmpty()),
    'Providers of the model, tried by priority (highest first), then by order of the model, by weight, or as written.',
    {
      expects: 'a list of one route at least',
    },
  );

const mediaRoutes = routes(v.strictObject(route));

const price = (unit: string) => withDefault(credits(), 0, `Credits ${unit}.`);

const reasoning = v.strictObject({
  supported_efforts: field(
    v.pipe(v.array(v.picklist(EFFORTS)), v.nonEmpty()),
    'Efforts that requests may ask for: none, minimal, low, medium, high, xhigh, max.',
    { expects: 'a list of one effort at least' },
  ),
  default_effort: field(v.picklist(EFFORTS), 'Effort if the request sets none.'),
  can_disable: field(v.boolean(), 'Whether requests may switch reasoning off.'),
});

const fieldNames = v.array(
  v.pipe(
    v.string(),
    v.check(isFieldName),
    v.metadata({ expects: 'the name of a field, such as seed or text.verbosity' }),
  ),
);

const onUnsupported = optional(
  v.union([v.picklist(['refuse', 'drop']), fieldNames]),
  "What happens to fields that the provider's format lacks: refuse, drop, or the names of further fields to drop, such " +
    'as logit_bias or name. unset: sampling hints are dropped, and other fields are refused. Limits are clamped to those ' +
    'of the model, unless this is refuse. Header and log name what is dropped or clamped. A route overrides its model.',
  { expects: 'refuse, drop or a list of names of fields' },
);

const UNSTORED = FEATURES.filter((feature) => !REFERENCES.some((one) => one === feature));

const cachePrices = {
  cachedInput: optional(
    credits(),
    'Credits per million tokens of input from a cache; unset: as input.',
  ),
  cacheWrite: optional(
    credits(),
    'Credits per million tokens of input written to a cache; unset: as input.',
  ),
  cacheWrite1h: optional(
    credits(),
    'Credits per million tokens of input written to a cache for an hour, where the provider reports ' +
      'them separately; unset: as cacheWrite.',
  ),
};

const cacheHit = optional(
  credits(),
  'Credits per million tokens, of input and output, of answers from the exact cache; unset: 0.',
);

const batch = optional(
  number(0, 1),
  'Part of the price that requests of batches cost, such as 0.5; unset: 1.',
);

const cache = optional(
  v.strictObject({
    ttl: field(
      duration('0s'),
      'How long an answer is given again to the same request of the same account; 0s: never. A key can have another ' +
        'time (oriel keys create --cache).',
    ),
    maxSize: withDefault(
      size('1MB', '1000TB'),
      DEFAULT_CACHE_SIZE,
      'Size of the answers of this model, of all accounts. Those that were not used for longest are removed.',
    ),
  }),
  'The exact cache: equal requests get the recorded answer.',
);

const textModel = v.strictObject({
  type: v.literal('text'),
  ...about,
  allow: optional(
    v.array(v.picklist(FEATURES)),
    'Features that requests may use although they are not metered by tokens, run elsewhere or read what ' +
      `is stored: ${UNSTORED.join(', ')} (unknown: properties that this version does not know and ` +
      "otherwise leaves out), and, of what is stored in the provider's account, " +
      `${REFERENCES.join(', ')}. A key can have more (oriel keys create --allow).`,
    { expects: `a list of ${FEATURES.join(', ')}` },
  ),
  onUnsupported,
  unknownFields: optional(
    v.picklist(['refuse', 'ignore']),
    'Fields of requests that this version does not know: refuse, or ignore and name them in x-oriel-ignored. ' +
      'unset: ignore',
  ),
  normalize: optional(
    v.boolean(),
    'Whether answers are repaired for chat clients too: tool calls get unique indices and ' +
      'identifiers and arguments as text, and reasoning between <think> tags leaves the text. ' +
      'For inference servers that deviate from chat completions. Requests with n above 1 are ' +
      'not repaired. unset: false',
  ),
  tools: optional(
    v.strictObject({
      hosted: optional(
        v.picklist(['refuse', 'drop']),
        'Tools that the provider would run (web search and so on), and their calls in earlier answers, where they ' +
          'are not allowed or the format of the upstream has none: refuse, or drop and name them in ' +
          'x-oriel-dropped and the log. Those that the model cannot call, by tool_choice, are left out in ' +
          "any case. unset: refused, except for web search and image generation beside the client's own tools, which " +
          'are dropped',
      ),
    }),
    "What happens to tools that the model's provider cannot run.",
  ),
  rules: optional(
    v.picklist(['fixed-reasoning']),
    'fixed-reasoning: the model always reasons, with fixed sampling and the efforts low, high and max.',
  ),
  order,
  routes: routes(
    v.strictObject({
      ...tokenRoute,
      contextWindow: optional(
        integer(1),
        "Tokens that this route can read; a request that is too long tries the next route with more. Unset: the model's.",
      ),
      dialect: optional(v.picklist(DIALECT_NAMES), 'Wire format of requests to it.'),
      batches: optional(
        v.picklist(['provider']),
        "provider: batches whose requests all are in the route's format and for this model go to the provider's own " +
          "batches. unset: Oriel's workers run them.",
      ),
      onUnsupported,
      promptCaching: optional(
        v.picklist(['off', 'auto']),
        'auto: requests of the messages format without cache marks get some on tools, system and the last turns. ' +
          'Providers charge more for what they write to a cache (Anthropic: 1.25 times the input), and less for what ' +
          'they read from it (0.1 times). unset: off',
      ),
    }),
  ),
  reasoning: optional(reasoning, 'Reasoning of the model.'),
  maxOutputTokens: optional(
    integer(1),
    "Tokens of the model's largest response, and upper bound of reservations.",
  ),
  contextWindow: optional(
    integer(1),
    'Tokens that the model can read, and upper bound of reservations.',
  ),
  cache,
  price: section(
    v.strictObject({
      input: price('per million tokens of input'),
      ...cachePrices,
      output: price('per million tokens of output'),
      cacheHit,
      batch,
      tiers: optional(
        v.array(
          v.strictObject({
            above: field(
              integer(1),
              'Tokens of input, those of caches included, above which the whole request has these prices.',
            ),
            input: optional(credits(), 'Credits per million tokens of input.'),
            ...cachePrices,
            output: optional(credits(), 'Credits per million tokens of output.'),
          }),
        ),
        'Other prices for requests with more input, the smallest first. Prices that a tier does not set stay ' +
          'as below it.',
        { expects: 'a list of tiers, each with above' },
      ),
    }),
    'Credits per million tokens. Cache reads and writes cost as much as input if they have no price.',
  ),
});

const embeddingModel = v.strictObject({
  type: v.literal('embedding'),
  ...about,
  order,
  routes: routes(v.strictObject(tokenRoute)),
  dimensions: optional(integer(1, 65_536), "Dimensions of the model's largest vectors."),
  contextWindow: optional(
    integer(1),
    'Tokens of an item that the model can read, and upper bound of reservations.',
  ),
  cache,
  price: section(
    v.strictObject({ input: price('per million tokens of input'), cacheHit, batch }),
    'Credits.',
  ),
});

const rerankModel = v.strictObject({
  type: v.literal('rerank'),
  ...about,
  order,
  routes: routes(v.strictObject(tokenRoute)),
  contextWindow: optional(
    integer(1),
    'Tokens of the query and a document that the model can read, and upper bound of reservations.',
  ),
  cache,
  price: section(
    v.strictObject({
      input: price('per million tokens of input'),
      perSearch: price('per search: up to 100 documents of up to 500 tokens, as Cohere bills'),
      cacheHit,
    }),
    'Credits.',
  ),
});

const imageModel = v.strictObject({
  type: v.literal('image'),
  ...about,
  rules: optional(
    v.picklist(['native-size']),
    'native-size: sizes are mapped to the seven native sizes of the model.',
  ),
  routes: mediaRoutes,
  price: section(v.strictObject({ perImage: price('per image made') }), 'Credits.'),
});

const videoModel = v.strictObject({
  type: v.literal('video'),
  ...about,
  routes: mediaRoutes,
  duration: withDefault(integer(1, 3600), 4, 'Default length of a video in seconds.'),
  price: section(
    v.strictObject({
      perVideo: price('per video made'),
      perSecond: price('per second of it, on top'),
    }),
    'Credits.',
  ),
});

/** A model whose requests cost the same. */
const pricedByRequest = <const Type extends ModelType>(type: Type) =>
  v.strictObject({
    type: v.literal(type),
    ...about,
    routes: mediaRoutes,
    price: section(v.strictObject({ perRequest: price('per request') }), 'Credits.'),
  });

/** Models by their public identifiers. */
export const models = v.record(
  modelIdentifier(),
  v.variant('type', [
    textModel,
    embeddingModel,
    rerankModel,
    imageModel,
    videoModel,
    pricedByRequest('audio'),
    pricedByRequest('transcription'),
    pricedByRequest('moderation'),
  ]),
);
