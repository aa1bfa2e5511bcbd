import * as v from 'valibot';
import { kindOf, type MediaApi } from '../config/provider-kinds.ts';
import type { Config } from '../config/schema.ts';
import { field, integer } from '../schema/fields.ts';
import type { ImageOptions, ImageTaskRequest, TaskRequest } from './task-request.ts';

const background = v.nullish(
  field(v.picklist(['auto', 'transparent', 'opaque']), 'background of the images'),
);
const outputFormat = v.nullish(
  field(v.picklist(['png', 'jpeg', 'webp']), "file format; by default the model's own"),
);
const outputCompression = v.nullish(
  field(integer(0, 100), 'quality of JPEG and WebP files, 100 by default'),
);
const partialImages = v.nullish(
  field(integer(0, 3), 'changes nothing, since images are not streamed'),
);
const stream = v.nullish(
  field(v.pipe(v.boolean(), v.value(false)), 'false: images are not streamed', {
    expects: 'false, since images are not streamed',
  }),
);

/** The fields of an edit. */
export const editOptionFields = {
  background,
  output_format: outputFormat,
  output_compression: outputCompression,
  input_fidelity: v.nullish(
    field(v.picklist(['low', 'high']), 'how closely the images are followed'),
  ),
  partial_images: partialImages,
  stream,
};

/** The fields of a generation. */
export const generationOptionFields = {
  background,
  output_format: outputFormat,
  output_compression: outputCompression,
  moderation: v.nullish(
    field(v.picklist(['auto', 'low']), 'how strictly the upstream filters images'),
  ),
  style: v.nullish(field(v.picklist(['vivid', 'natural']), 'style of the images')),
  partial_images: partialImages,
  stream,
};

interface Option {
  /** Value that asks for what happens anyway, and is not sent. */
  readonly neutral?: string | number;
  /** Media interfaces that have the field. */
  readonly apis: readonly MediaApi[];
}

const REMOTE: readonly MediaApi[] = ['openai', 'oriel'];
const EVERY: readonly MediaApi[] = [...REMOTE, 'sandbox'];

const OPTIONS: Readonly<Record<string, Option>> = {
  background: { neutral: 'auto', apis: REMOTE },
  moderation: { neutral: 'auto', apis: REMOTE },
  output_format: { apis: EVERY },
  output_compression: { neutral: 100, apis: EVERY },
  style: { apis: REMOTE },
  input_fidelity: { apis: REMOTE },
};

/** Advice of image requests, and the media interfaces that have it. */
const ADVICE = {
  seed: ['oriel', 'sandbox'],
  user: REMOTE,
} as const satisfies Readonly<Record<string, readonly MediaApi[]>>;

/** The options among a body's fields, without neutral values. */
export function imageOptionsOf(fields: Readonly<Record<string, unknown>>): ImageOptions {
  const options: Record<string, string | number> = {};
  for (const [name, { neutral }] of Object.entries(OPTIONS)) {
    const value = fields[name];
    if (value != null && value !== neutral) options[name] = value as string | number;
  }
  return options;
}

type Providers = Config['providers'];
type NamedRoute = { readonly provider: string };

/** The first field of a request, by name, that a media interface lacks; null if it has them all. */
function missingField({ options = {}, quality }: ImageTaskRequest, api: MediaApi): string | null {
  if (quality === 'hd' && !REMOTE.includes(api)) return 'quality';
  return Object.keys(options).find((name) => !OPTIONS[name]?.apis.includes(api)) ?? null;
}

function apiOf({ provider }: NamedRoute, providers: Providers): MediaApi | null {
  const settings = providers[provider];
  return settings === undefined ? null : kindOf(settings).mediaApi;
}

/** The field that a request cannot have at a route; null if the route serves the request. */
export function fieldWithoutRoute(
  request: TaskRequest,
  route: NamedRoute,
  providers: Providers,
): string | null {
  if (request.type !== 'image') return null;
  const api = apiOf(route, providers);
  return api === null ? null : missingField(request, api);
}

/** The advice of a request that a route leaves out, by name. */
export function ignoredAdvice(
  request: TaskRequest,
  route: NamedRoute,
  providers: Providers,
): readonly string[] {
  if (request.type !== 'image') return [];
  const api = apiOf(route, providers);
  return Object.entries(ADVICE).flatMap(([name, apis]: [string, readonly MediaApi[]]) =>
    request[name as keyof typeof ADVICE] === null || api === null || apis.includes(api)
      ? []
      : [name],
  );
}
