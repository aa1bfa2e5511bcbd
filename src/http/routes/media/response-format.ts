import type { FastifyRequest } from 'fastify';
import * as v from 'valibot';
import type { Config } from '../../../config/settings/schema.ts';
import { checkFields, type Fields } from '../../../media/requests/fields.ts';
import { integer, nullish } from '../../../schema/fields.ts';
import { invalid } from '../../../schema/invalid.ts';

const RESPONSE_FORMATS = ['url', 'b64_json'] as const;

/** How a JSON response has images: as URLs or as base64. */
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

/** How a client gets images. */
export interface ImageResponse {
  /** Null where it does not ask for images in the response. */
  readonly format: ResponseFormat | null;
  /** Whether they come as events. */
  readonly isStreamed: boolean;
  /** Fields that are left out. */
  readonly ignored: readonly string[];
}

/** Parameters of the endpoints that wait for images, beside those for the model. */
export const imageResponseFields = {
  response_format: nullish(
    v.picklist(RESPONSE_FORMATS),
    'whether the response has images as URLs or as base64; unset: as the key is set up, by default the task',
  ),
  stream: nullish(v.boolean(), "whether the images come as OpenAI's server-sent events"),
  partial_images: nullish(
    integer(0, 3),
    'left out: a stream has whole images only, as OpenAI allows',
  ),
};
export const imageResponseSchema = v.object(imageResponseFields);

/**
 * Separates how the client wants images from the parameters for the model.
 *
 * @param defaultFormat of requests that do not choose any
 * @throws Failure invalid_request
 */
export function imageResponseOf(
  { response_format: asked, stream, partial_images, ...fields }: Fields,
  defaultFormat: ResponseFormat | null = null,
): readonly [ImageResponse, Fields] {
  // Together's clients write base64.
  const response_format = asked === 'base64' ? 'b64_json' : asked;
  const given = checkFields(imageResponseSchema, { response_format, stream, partial_images });
  if (given.stream !== true) {
    const format = given.response_format ?? defaultFormat;
    return [{ format, isStreamed: false, ignored: [] }, fields];
  }
  if (given.response_format === 'url') {
    throw invalid(
      'response_format',
      'expected b64_json with stream, received "url"',
      'conflicting_parameters',
    );
  }
  const ignored = given.partial_images ? ['partial_images'] : [];
  return [{ format: 'b64_json', isStreamed: true, ignored }, fields];
}

/** A client that asks for the task whatever the setting of its key is (RFC 7240, section 4.1). */
const PREFERS_TASK = /(?:^|,)\s*respond-async\s*(?:[,;]|$)/i;

/** Whether a client asks for the task at once. */
export function prefersTask({ headers }: FastifyRequest): boolean {
  return PREFERS_TASK.test(String(headers['prefer'] ?? ''));
}

/** The AI SDK, which fails at a task: `ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/24`. */
const AI_SDK = /^ai(-sdk[\w-]*)?\//;

/** The format of image requests that do not choose any, by the setting of the key or else the configuration. */
export function defaultFormatOf(
  request: FastifyRequest,
  { answers }: Config,
): ResponseFormat | null {
  if (prefersTask(request)) return null;
  const choice = request.holder.key.images ?? answers.images;
  if (choice !== 'task') return choice;
  const isAiSdk = AI_SDK.test(String(request.headers['user-agent'] ?? ''));
  return isAiSdk && request.holder.key.images !== 'task' ? 'b64_json' : null;
}
