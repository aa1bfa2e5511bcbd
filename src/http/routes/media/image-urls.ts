import type { FastifyInstance } from 'fastify';
import { IMAGE_PATH } from '../../../image-urls/address.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { matchesTag } from '../../responses/range.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { unknownEndpoint } from '../server/unknown.ts';
import { FILE_HEADERS } from '../tasks/assets.ts';

/** A transparent pixel: an image of GIF89a with one colour. */
const PLACEHOLDER = Buffer.from(
  'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'base64',
);

/** Images by URL. Their signatures stand for a key. */
export function imageUrlRoutes(server: FastifyInstance, context: AppContext): void {
  const { imageUrls, metrics } = context;
  const running = () => imageUrls.cache.rendering;
  metrics.gauge('oriel_image_urls_rendering', 'Images by URL that are being rendered', running);
  addEndpoint(server, {
    path: `GET ${IMAGE_PATH}*`,
    tag: 'Assets',
    summary: 'An image of a host, bucket or folder, changed by steps: /img/SIGNATURE/STEPS/SOURCE',
    isPublic: true,
    answer: {
      description: 'The image',
      content: { 'image/*': { schema: { type: 'string', format: 'binary' } } },
    },
    handler: async (request, reply) => {
      const { headers, raw } = request;
      const url = raw.url!;
      if (context.config.images.keys.length === 0) throw unknownEndpoint(IMAGE_PATH, false);
      // An error of this moment must not stay in the caches of browsers and proxies.
      reply.header('cache-control', 'no-store');
      const signal = disconnectSignal(reply);
      const { image, result, maxAge, isNegotiated } = await imageUrls.answer(
        url,
        headers.accept,
        signal,
      );
      metrics.imageUrls.inc({ result });
      if (isNegotiated) reply.header('vary', 'Accept');
      reply.headers(FILE_HEADERS);
      if (image === null) return reply.type('image/gif').send(PLACEHOLDER);
      const etag = `"${image.sha256.slice(0, 32)}"`;
      reply.headers({
        etag,
        'cache-control': `public, max-age=${maxAge}`,
        'x-oriel-cache': result,
      });
      if (matchesTag(headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type(image.mediaType).send(image.bytes);
    },
  });
}
