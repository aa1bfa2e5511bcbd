import type { FastifyInstance } from 'fastify';
import { BINARY } from '../openapi/openapi.ts';
import type { AppContext } from '../request/app-context.ts';
import { addEndpoint } from '../request/endpoint.ts';
import { matchesTag } from '../responses/range.ts';
import { unknownEndpoint } from '../routes/server/unknown.ts';
import { FILE_HEADERS } from '../routes/tasks/assets.ts';
import { withTimeout } from '../transport/timeout.ts';
import { IMAGE_PATH } from './address.ts';
import { ImageUrls } from './image-urls.ts';

/** A transparent pixel: an image of GIF89a with one colour. */
const PLACEHOLDER = Buffer.from(
  'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'base64',
);

/** Images by URL. Their signatures stand for a key. */
export function imageUrlRoutes(server: FastifyInstance, context: AppContext): void {
  const { metrics } = context;
  const urls = new ImageUrls(context);
  const rendering = () => urls.cache.rendering;
  metrics.gauge('oriel_image_urls_rendering', 'Images by URL that are being rendered', rendering);
  addEndpoint(server, {
    path: `GET ${IMAGE_PATH}*`,
    tag: 'Assets',
    summary: 'An image of a host, bucket or folder, changed by steps: /img/SIGNATURE/STEPS/SOURCE',
    isPublic: true,
    answer: {
      description: 'The image',
      content: { 'image/*': { schema: BINARY } },
    },
    handler: async (request, reply) => {
      const { headers, raw, method } = request;
      const { keys, placeholder } = context.config.images;
      if (keys.length === 0) throw unknownEndpoint(IMAGE_PATH, false);
      // An error of this moment must not stay in the caches of browsers and proxies.
      reply.header('cache-control', 'no-store');
      const answer = await urls.answer(raw.url!, headers.accept);
      const { expires, isNegotiated } = answer;
      if (isNegotiated) reply.header('vary', 'Accept');
      const isPatient = placeholder === undefined || 'bytes' in answer.image;
      const image = await (isPatient
        ? answer.image
        : withTimeout<Awaited<typeof answer.image> | null>(answer.image, placeholder, null));
      const result = image === null ? 'placeholder' : answer.isHit ? 'hit' : 'miss';
      metrics.imageUrls.inc({ result });
      reply.headers({ ...FILE_HEADERS, 'x-oriel-cache': result });
      if (image === null) return reply.type('image/gif').send(PLACEHOLDER);
      const until = Math.min(image.expiresAt, (expires ?? Infinity) * 1000);
      const maxAge = Math.max(0, Math.floor((until - Date.now()) / 1000));
      const etag = `"${image.sha256.slice(0, 32)}"`;
      reply.headers({ etag, 'cache-control': `public, max-age=${maxAge}` });
      if (matchesTag(headers['if-none-match'], etag)) return reply.code(304).send();
      // In memory until the client has read it.
      if (method === 'GET') request.reserveMemory?.(image.bytes.length);
      return reply.type(image.mediaType).send(image.bytes);
    },
  });
}
