import * as v from 'valibot';
import { kindOf, type MediaApi } from '../../config/providers/provider-kinds.ts';
import type { Config } from '../../config/settings/schema.ts';
import { field, integer } from '../../schema/fields.ts';
import {
  type AudioTaskRequest,
  type ImageOptions,
  type ImageTaskRequest,
  SANDBOX_FORMATS,
  type TaskRequest,
} from './task-request.ts';

const background = v.nullish(
  field(v.picklist(['auto', 'transparent', 'opaque']), 'background of the images'),
);
const outputFormat = v.nullish(
  field(v.picklist(['png', 'jpeg', 'webp']), "file format; by default the model's own"),
);
const outputCompression = v.nullish(
  field(integer(0, 100), 'quality of JPEG and WebP files, 100 by default'),
);

/** The fields of an edit. */
export const editOptionFields = {
  background,
  output_format: outputFormat,
  output_compression: outputCompression,
  input_fidelity: v.nullish(
    field(v.picklist(['low', 'high']), 'how closely the images are followed'),
  ),
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

/** Advice of requests by their type, and the media interfaces that have it. */
const ADVICE: Readonly<
  Record<TaskRequest['type'], Readonly<Record<'seed' | 'user', readonly MediaApi[]>>>
> = {
  image: { seed: ['oriel', 'sandbox'], user: REMOTE },
  video: { seed: ['oriel', 'sandbox'], user: ['oriel'] },
  audio: { seed: ['oriel', 'sandbox'], user: ['oriel'] },
};

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

/** A field of a speech request that a media interface lacks. */
function missingSpeechField({ format }: AudioTaskRequest, api: MediaApi): string | null {
  if (api !== 'sandbox' || format === null) return null;
  return SANDBOX_FORMATS.some((known) => known === format) ? null : 'format';
}

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
  const api = apiOf(route, providers);
  if (api === null || request.type === 'video') return null;
  return request.type === 'image' ? missingField(request, api) : missingSpeechField(request, api);
}

/** The advice of a request that a route leaves out, by name. */
export function ignoredAdvice(
  request: TaskRequest,
  route: NamedRoute,
  providers: Providers,
): readonly string[] {
  const api = apiOf(route, providers);
  const advice = ADVICE[request.type];
  return (['seed', 'user'] as const).filter(
    (name) => request[name] !== null && api !== null && !advice[name].includes(api),
  );
}
