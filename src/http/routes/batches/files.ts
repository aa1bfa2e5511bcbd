import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { type FileDocument, PURPOSES } from '../../../batches/stored-files.ts';
import { checkFields, unknownNames } from '../../../media/requests/fields.ts';
import { fieldsOf, integer, nullish, optional, withDefault } from '../../../schema/fields.ts';
import { BINARY, formSchemaOf } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { idPageOf, idPageShape, seconds } from '../../request/query.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { admitForm, sentFiles, valuesOf, withForm } from '../../uploads/form.ts';
import type { FormShape } from '../../uploads/parts.ts';
import { nameIgnored } from '../media/media-response.ts';
import { bodyOf } from '../tasks/assets.ts';

/** Bytes of one file, as OpenAI accepts for batches. */
export const MAX_FILE_BYTES = 200 * 1024 * 1024;

const lifetime = nullish(
  integer(3600, 7_776_000),
  'seconds until the file is deleted, if that is before `limits.retention`',
);

const uploadForm = v.object({
  purpose: nullish(v.picklist(PURPOSES), 'what the file is for; user_data by default'),
  'expires_after[anchor]': nullish(v.literal('created_at'), 'when the seconds begin'),
  'expires_after[seconds]': lifetime,
  expires_in_seconds: lifetime,
});

const FIELDS = fieldsOf(uploadForm);

const UPLOAD: FormShape = {
  files: [{ name: 'file', min: 1, max: 1 }],
  fileBytes: MAX_FILE_BYTES,
  // Boundaries and headers around the file need little.
  requestBytes: MAX_FILE_BYTES + 1024 * 1024,
  fields: FIELDS.map(({ name }) => name),
  keepsUnknown: true,
};

/** What clients get has the fields of OpenAI, and for clients of Anthropic its own too. */
const shape = v.looseObject({ id: v.string(), filename: v.string(), purpose: v.string() });

const query = v.object({
  limit: withDefault(integer(1, 10_000), 100, 'elements of the page'),
  after: optional(v.string(), 'the id of the last element of the page before'),
  after_id: optional(v.string(), 'the same, as Anthropic names it'),
  pageSize: optional(integer(0, 10_000), 'the same as limit, as Google names it'),
  pageToken: optional(v.string(), 'nextPageToken of the page before, as Google names it'),
  order: withDefault(v.picklist(['asc', 'desc']), 'desc', 'order of creation'),
  purpose: optional(v.string(), 'only files of this purpose'),
});

/** Files of the account. */
export function fileRoutes(server: FastifyInstance, context: AppContext): void {
  const { files, store, assets } = context;
  const tag = 'Files';
  const found = ({ holder, params }: FastifyRequest<{ Params: { file_id: string } }>) =>
    files.find(holder.account.id, params.file_id);
  addEndpoint(server, {
    ...{ path: 'GET /v1/files', tag, summary: 'The files of the account', query },
    ...{ aliases: ['/v1beta/files'], answer: idPageShape(shape) },
    handler: async (request) => {
      const { order, purpose: parent, after_id, pageToken, pageSize } = request.query;
      const { after = after_id ?? pageToken, limit } = request.query;
      const { documents, hasMore } = await store.documents.list({
        ...{ kind: 'file', accountId: request.holder.account.id, order, after, parent },
        limit: pageSize || limit,
      });
      const shown = (documents as FileDocument[]).map(shownTo(request, context));
      const page = idPageOf(shown, hasMore);
      if (!isGemini(request)) return page;
      return { ...page, files: shown, ...(hasMore && { nextPageToken: page.last_id }) };
    },
  });
  addEndpoint(server, {
    ...{ path: 'GET /v1/files/:file_id', tag, summary: 'A file: its name, size and purpose' },
    ...{ aliases: ['/v1beta/files/:file_id'], answer: shape },
    handler: async (request) => shownTo(request, context)(await found(request)),
  });
  addEndpoint(server, {
    ...{ path: 'GET /v1/files/:file_id/content', tag, summary: 'The content of a file' },
    exposeHeadRoute: false,
    answer: {
      description: 'The file',
      content: { 'application/octet-stream': { schema: BINARY } },
    },
    handler: async (request, reply) => sendFile(assets, (await found(request)).body.asset, reply),
  });
  addEndpoint(server, {
    ...{ path: 'DELETE /v1/files/:file_id', tag, summary: 'Delete a file that no batch reads' },
    aliases: ['/v1beta/files/:file_id'],
    answer: v.looseObject({ id: v.string(), deleted: v.boolean() }),
    handler: async ({ holder, params: { file_id: id } }) => {
      await files.remove(holder.account.id, id);
      return { id, object: 'file', type: 'file_deleted', deleted: true };
    },
  });
}

/** Sends a stored file; what a browser opens runs no scripts. */
export async function sendFile(
  assets: AppContext['assets'],
  asset: FileDocument['body']['asset'],
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.headers({
    'content-length': asset.bytes,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
  });
  const signal = disconnectSignal(reply);
  reply.type(asset.mediaType);
  return reply.send(asset.bytes === 0 ? '' : await bodyOf(asset, assets, { signal }));
}

/** The upload of a file, which is a form. */
export function fileFormRoutes(server: FastifyInstance, context: AppContext): void {
  const { spool, files } = context;
  addEndpoint(server, {
    path: 'POST /v1/files',
    tag: 'Files',
    summary: 'Upload a file for batches, or to name it in requests',
    description: 'At most 200 MiB. Files are deleted after `limits.retention`.',
    form: () => formSchemaOf(uploadForm, { file: BINARY }, { sample: {}, required: ['file'] }),
    answer: shape,
    onRequest: admitForm(context, UPLOAD),
    handler: async (request, reply) => {
      const signal = disconnectSignal(reply);
      return withForm(request, UPLOAD, { spool, signal }, async (form) => {
        const values = valuesOf(form, FIELDS);
        const { purpose, ...given } = checkFields(uploadForm, values);
        const most = given['expires_after[seconds]'] ?? given.expires_in_seconds ?? Infinity;
        const { path } = sentFiles(form, 'file', UPLOAD)[0]!;
        const filename = safeName(form.files.get('file')![0]!.filename);
        const named = { filename, purpose: purpose ?? 'user_data' };
        nameIgnored(reply, unknownNames(uploadForm, values));
        return shownTo(request, context)(await files.add(request.holder, path, named, most));
      });
    },
  });
}

/** The last part of a name that a client gives, without control characters. */
export const safeName = (name: string) => name.replace(/^.*[/\\]|\p{Cc}/gsu, '') || 'file';

/** Whether a client is one of Google's, whose SDKs use the paths of v1 from their version 3 on. */
const isGemini = ({ routeOptions, headers }: Pick<FastifyRequest, 'routeOptions' | 'headers'>) =>
  routeOptions.url!.includes('/v1beta/') || headers['x-goog-api-key'] !== undefined;

/** A file as its client knows it. */
export const shownTo =
  (request: Pick<FastifyRequest, 'headers' | 'routeOptions'>, { publicUrl }: AppContext) =>
  ({ id, createdAt, expiresAt, body: { asset, filename, purpose } }: FileDocument) => {
    const { bytes, mediaType, sha256 } = asset;
    const created = new Date(createdAt).toISOString();
    const expires = expiresAt && new Date(expiresAt).toISOString();
    return {
      ...{ id, object: 'file', bytes, created_at: seconds(createdAt), filename, purpose },
      ...{ expires_at: expiresAt && seconds(expiresAt), status: 'processed' },
      ...(request.headers['anthropic-version'] !== undefined && {
        ...{ type: 'file', mime_type: mediaType, size_bytes: bytes, downloadable: true },
        ...{ created_at: created, expires_at: expires },
      }),
      ...(isGemini(request) && {
        ...{ name: `files/${id}`, uri: `${publicUrl}/v1beta/files/${id}`, displayName: filename },
        ...{ mimeType: mediaType, sizeBytes: String(bytes), state: 'ACTIVE', source: 'UPLOADED' },
        ...{ createTime: created, updateTime: created, expirationTime: expires },
        sha256Hash: Buffer.from(sha256 ?? '', 'hex').toString('base64'),
      }),
    };
  };
