import * as v from 'valibot';
import { day, field, integer, number } from '../schema/fields.ts';
import { FEATURES } from '../store/features.ts';
import { DIALECT_NAMES } from './dialects.ts';
import { identifier, text } from './text.ts';
import { credits } from './units.ts';

/** How much a model may be asked to reason (interface part 4.1), from nothing to all it can. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

const seconds = v.pipe(
  day(),
  v.transform((value) => Date.parse(value) / 1000),
);

const about = {
  name: v.optional(field(text(), 'What people call it.')),
  description: v.optional(field(text(), 'What it is good for, in the catalog.')),
  created: v.optional(field(seconds, 'The day it appeared, in the catalog.')),
  ownedBy: v.optional(field(text(), 'Whose it is, in the catalog.'), 'oriel'),
};

const route = {
  provider: field(text(), 'The name of a provider.'),
  model: field(text(), 'What that provider calls the model.'),
  weight: v.optional(field(number(0, 1_000_000), 'Heavier routes are tried first.'), 1),
};

const routes = <const Route extends v.GenericSchema>(schema: Route) =>
  field(v.pipe(v.array(schema), v.nonEmpty()), 'Who answers for it.', {
    expects: 'a list of one route at least',
  });

const mediaRoutes = routes(v.strictObject(route));

const price = (unit: string) => v.optional(field(credits(), `Credits ${unit}.`), 0);

const reasoning = v.strictObject({
  supported_efforts: field(
    v.pipe(v.array(v.picklist(EFFORTS)), v.nonEmpty()),
    'How much it may be asked to reason.',
    { expects: 'a list of one effort at least' },
  ),
  default_effort: field(v.picklist(EFFORTS), 'How much it reasons where nobody asks.'),
  can_disable: field(v.boolean(), 'Whether it can be asked not to.'),
});

const textModel = v.strictObject({
  type: v.literal('text'),
  ...about,
  allow: v.optional(
    field(
      v.array(v.picklist(FEATURES)),
      'What requests may ask of its provider beyond what is metered by tokens and stateless.',
      { expects: `a list of ${FEATURES.join(', ')}` },
    ),
  ),
  rules: v.optional(field(v.picklist(['fixed-reasoning']), 'Special rules that it follows.')),
  routes: routes(
    v.strictObject({
      ...route,
      dialect: v.optional(field(v.picklist(DIALECT_NAMES), 'The wire format to speak with it.')),
    }),
  ),
  reasoning: v.optional(field(reasoning, 'Whether and how much it reasons.')),
  maxOutputTokens: v.optional(field(integer(1), 'The largest answer that it gives.')),
  contextWindow: v.optional(field(integer(1), 'The tokens that it can look at.')),
  price: v.nullish(
    field(
      v.strictObject({
        input: price('per million tokens of input'),
        cachedInput: v.optional(
          field(credits(), 'Credits per million tokens of input from a cache; unset: as input.'),
        ),
        cacheWrite: v.optional(
          field(
            credits(),
            'Credits per million tokens of input written to a cache; unset: as input.',
          ),
        ),
        output: price('per million tokens of output'),
      }),
      'What it costs.',
    ),
    {},
  ),
});

const imageModel = v.strictObject({
  type: v.literal('image'),
  ...about,
  rules: v.optional(field(v.picklist(['native-size']), 'Special rules that it follows.')),
  routes: mediaRoutes,
  price: v.nullish(
    field(v.strictObject({ perImage: price('per image made') }), 'What it costs.'),
    {},
  ),
});

const videoModel = v.strictObject({
  type: v.literal('video'),
  ...about,
  routes: mediaRoutes,
  duration: v.optional(
    field(integer(1, 3600), 'Seconds of a video where the client does not say how many.'),
    4,
  ),
  price: v.nullish(
    field(
      v.strictObject({
        perVideo: price('per video made'),
        perSecond: price('per second of it, on top'),
      }),
      'What it costs.',
    ),
    {},
  ),
});

const pricePerRequest = v.nullish(
  field(v.strictObject({ perRequest: price('per request') }), 'What it costs.'),
  {},
);

const audioModel = v.strictObject({
  type: v.literal('audio'),
  ...about,
  routes: mediaRoutes,
  price: pricePerRequest,
});

const moderationModel = v.strictObject({
  type: v.literal('moderation'),
  ...about,
  routes: mediaRoutes,
  price: pricePerRequest,
});

/** Models by their public identifiers. */
export const models = v.record(
  identifier(),
  v.variant('type', [textModel, imageModel, videoModel, audioModel, moderationModel]),
);
