import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { checkedBody } from '../../../schema/body.ts';
import { boundedText, optional } from '../../../schema/fields.ts';
import { invalid } from '../../../schema/invalid.ts';
import type { Asset } from '../../../store/asset.ts';
import type { Store } from '../../../store/store.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { keptFile } from '../../uploads/form.ts';
import { MAX_FILE_BYTES, safeName, shownTo } from './files.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the handler writes the body to disk as it arrives. */
    isUpload?: boolean;
  }
}

/** Every chunk but the last has a multiple of this many bytes, as at Google. */
const CHUNK_UNIT = 256 * 1024;

const name = boundedText(512);
const startBody = v.looseObject({
  file: v.nullish(v.looseObject({ name: v.nullish(v.string()), displayName: v.nullish(name) })),
});
const chunkQuery = v.object({
  name: optional(name, 'name of the file'),
  type: optional(boundedText(128), 'media type of the file'),
});

/** Identifier of the stored chunk at a place of an upload, so that any node finds it. */
function partId(upload: string, place: number): string {
  return `${createHash('sha256').update(`${upload} ${place}`).digest('base64url')}.bin`;
}

/** The stored chunks of an upload up to an offset, and their bytes in all. */
async function partsBefore(offset: number, upload: string, store: Pick<Store, 'findAsset'>) {
  const parts: Asset[] = [];
  let received = 0;
  while (received < offset) {
    const part = await store.findAsset(partId(upload, received));
    if (part === undefined) break;
    parts.push(part);
    received += part.bytes;
  }
  return { parts, received };
}

/** Uploads in the protocol of Google's SDKs, in chunks. */
export function geminiUploadRoutes(server: FastifyInstance, context: AppContext): void {
  const { files, store, spool } = context;
  const shared = { tag: 'Files', answer: v.looseObject({}) };
  addEndpoint(server, {
    ...{ path: 'POST /upload/v1beta/files', aliases: ['/upload/v1/files'], ...shared },
    summary: 'Begin an upload, as Google does; X-Goog-Upload-URL takes its chunks',
    body: v.pipe(startBody, v.examples([{ file: { displayName: 'notes.txt' } }])),
    handler: async ({ body, headers }, reply) => {
      const { file } = checkedBody(startBody, body ?? {});
      const header = (key: string) => String(headers[`x-goog-upload-${key}`] ?? '');
      if ((header('command') || 'start') !== 'start')
        throw invalid('X-Goog-Upload-Command', 'expected start');
      if (file?.name) throw invalid('file.name', 'expected none; the server names files');
      const size = Number(header('header-content-length'));
      if (!(size >= 0)) {
        throw invalid('X-Goog-Upload-Header-Content-Length', 'expected a number of bytes');
      }
      keptFile({ path: '', size }, 'file', MAX_FILE_BYTES);
      const query = new URLSearchParams({
        name: file?.displayName || header('file-name') || 'file',
        type: header('header-content-type') || '*',
      });
      const id = randomBytes(16).toString('base64url');
      reply.header('x-goog-upload-url', `${context.publicUrl}/upload/v1beta/files/${id}?${query}`);
      reply.header('x-goog-upload-chunk-granularity', CHUNK_UNIT);
      return reply.header('x-goog-upload-status', 'active').send({});
    },
  });
  server.register(async (uploads) => {
    // Google's SDKs send chunks of any file as JSON.
    uploads.removeAllContentTypeParsers();
    uploads.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    addEndpoint(uploads, {
      path: 'POST /upload/v1beta/files/:upload_id',
      ...{ ...shared, summary: 'Send a chunk of an upload, or ask how many bytes have arrived' },
      ...{ query: chunkQuery, config: { isUpload: true } },
      handler: async (request, reply) => {
        const { body, holder, headers, params, query } = request;
        const command = String(headers['x-goog-upload-command'] ?? '');
        const isQuery = command === 'query';
        const offset = isQuery ? Infinity : Number(headers['x-goog-upload-offset'] ?? 0);
        const upload = `${holder.account.id} ${params.upload_id}`;
        const { parts, received } = await partsBefore(offset, upload, store);
        reply.header('x-goog-upload-status', 'active');
        if (isQuery) return reply.header('x-goog-upload-size-received', received).send({});
        if (!/^(?:upload|(?:upload, *)?finalize)$/.test(command)) {
          throw invalid('X-Goog-Upload-Command', 'expected upload, finalize, both, or query');
        }
        if (received !== offset) throw invalid('X-Goog-Upload-Offset', `expected ${received}`);
        const spooled = spool.uploads(holder.account.id);
        const signal = disconnectSignal(reply);
        try {
          const content = (body ?? []) as AsyncIterable<Uint8Array>;
          const sent = await spooled.receive(content, MAX_FILE_BYTES - offset).catch((error) => {
            signal.throwIfAborted();
            throw error;
          });
          const size = offset + sent.size;
          const { path } = keptFile({ ...sent, size }, 'file', MAX_FILE_BYTES);
          if (command !== 'upload') {
            const named = { filename: safeName(query.name ?? ''), purpose: 'user_data' } as const;
            const file = await files.add(holder, path, named, Infinity, query.type, parts);
            reply.header('x-goog-upload-status', 'final');
            return { file: shownTo(request, context)(file) };
          }
          if (sent.size === 0 || sent.size % CHUNK_UNIT !== 0) {
            throw invalid('X-Goog-Upload-Offset', `expected a multiple of ${CHUNK_UNIT} to follow`);
          }
          await files.addPart(holder, path, partId(upload, offset));
          return {};
        } finally {
          await spooled.discard();
        }
      },
    });
  });
}
