import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { codedFailure } from '../../../failure.ts';
import { DEFAULT_LIMITS } from '../../../images/limits.ts';
import { nameOfTask } from '../../../media/record.ts';
import * as requests from '../../../media/requests/fields.ts';
import type { StoredResult, VideoTaskRequest } from '../../../media/task/task-request.ts';
import { checkedBody } from '../../../schema/body.ts';
import { fieldsOf as formFields, integer, nullish, optional } from '../../../schema/fields.ts';
import { invalid } from '../../../schema/invalid.ts';
import { conflict } from '../../../store/errors.ts';
import type { Task } from '../../../store/task.ts';
import { BINARY, formSchemaOf } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { deletedShape, idPageOf, idPageShape, pageLimit, seconds } from '../../request/query.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { admitForm, sentFiles, valuesOf, withForm } from '../../uploads/form.ts';
import type { FormShape } from '../../uploads/parts.ts';
import { bodyOf } from '../tasks/assets.ts';
import { taskNotFound } from '../tasks/tasks.ts';
import { resultFiles, submitMedia } from './media-response.ts';

const REFERENCE = 'input_reference[image_url]';

/** OpenAI's form of a video, without its file. */
const videoForm = v.object({
  model: requests.model,
  prompt: requests.prompt,
  seconds: nullish(integer(1, 60), "length of the video in seconds; by default the model's own"),
  size: requests.shortText('WIDTHxHEIGHT or a ratio such as 16:9'),
  [REFERENCE]: nullish(v.string(), 'the reference image by its URL'),
  ...requests.taskFields,
});

const remixRequest = v.object({ prompt: requests.prompt });

const FIELDS = formFields(videoForm);
const { fileBytes } = DEFAULT_LIMITS;

const VIDEO: FormShape = {
  files: [{ name: 'input_reference', min: 0, max: 1 }],
  fileBytes,
  requestBytes: fileBytes + 1024 * 1024,
  fields: FIELDS.map(({ name }) => name),
  // The longest prompt, each of its characters in four bytes.
  valueBytes: 128_000,
  keepsUnknown: true,
};

const STATUS = {
  pending: 'queued',
  processing: 'in_progress',
  completed: 'completed',
  failed: 'failed',
  expired: 'failed',
} as const satisfies Record<Task['status'], string>;

const videoShape = v.looseObject({ id: v.string(), status: v.picklist(Object.values(STATUS)) });

const shared = { tag: 'Videos', answer: videoShape } as const;

/** The creation of a video in OpenAI's shape, which is a task. */
export function addVideoForm(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    ...shared,
    path: 'POST /v1/videos',
    summary: 'Create a video, as OpenAI does',
    form: formSchemaOf(
      videoForm,
      { input_reference: { ...BINARY, description: 'Reference image.' } },
      { sample: { model: 'sandbox-video', prompt: 'waves on a beach' }, required: [] },
    ),
    onRequest: admitForm(context, VIDEO),
    handler: async (request, reply) => {
      const signal = disconnectSignal(reply);
      return withForm(request, VIDEO, { spool: context.spool, signal }, async (form) => {
        const values = valuesOf(form, FIELDS);
        const {
          seconds: duration,
          [REFERENCE]: url,
          ...fields
        } = requests.checkFields(videoForm, values);
        const images = sentFiles(form, 'input_reference', VIDEO);
        const asked = {
          ...{ kind: 'video' as const, images, ignored: requests.unknownNames(videoForm, values) },
          fields: { ...fields, duration, ...(url && { input_images: [url] }) },
        };
        return videoOf(await submitMedia(context, request, reply, asked), context);
      });
    },
  });
}

/** Videos in OpenAI's shape. */
export function videoRoutes(server: FastifyInstance, context: AppContext): void {
  const { store } = context;
  const find = async ({ holder, params }: FastifyRequest) => {
    const { video_id: id } = params as { readonly video_id: string };
    const task = await store.findTask(holder.account.id, id);
    if (task?.type !== 'video') throw taskNotFound('video_id');
    return task;
  };
  addEndpoint(server, {
    ...shared,
    path: 'GET /v1/videos/:video_id',
    summary: 'A video and its state, as OpenAI shows it',
    handler: async (request) => videoOf(await find(request), context),
  });
  addEndpoint(server, {
    ...shared,
    path: 'DELETE /v1/videos/:video_id',
    summary: 'Delete a video that has ended, with its file',
    answer: deletedShape('video.deleted'),
    handler: async (request) => {
      const { id, accountId } = await find(request);
      const { tasks, assets } = await store.deleteTasks({ accountId, id });
      if (tasks.length === 0) {
        throw conflict(`${id} has not ended, or its callback is not delivered`, 'task_state');
      }
      await context.assets.discard(assets.map((asset) => asset.id));
      return { id, object: 'video.deleted' as const, deleted: true as const };
    },
  });
  addEndpoint(server, {
    ...shared,
    path: 'POST /v1/videos/:video_id/remix',
    summary: 'Remix a video, which no provider can do yet',
    body: v.pipe(remixRequest, v.examples([{ prompt: 'at night' }])),
    handler: async (request) => {
      checkedBody(remixRequest, request.body);
      const name = nameOfTask(await find(request));
      const what = `the model ${JSON.stringify(name)} takes no video as its input; create a video`;
      throw invalid('video_id', `${what} from a prompt and an image`, 'unsupported_value');
    },
  });
  addEndpoint(server, {
    ...shared,
    path: 'GET /v1/videos',
    summary: "The caller's videos, newest first",
    query: v.strictObject({
      limit: pageLimit,
      after: optional(v.string(), 'the id of the last element of the page before'),
      order: optional(v.literal('desc'), 'by creation'),
    }),
    answer: idPageShape(videoShape),
    handler: async ({ holder, query: { limit, after } }) => {
      const page = { limit: limit + 1, ...(after !== undefined && { after }) };
      const tasks = await store.listTasks({ accountId: holder.account.id, type: 'video' }, page);
      return idPageOf(
        tasks.slice(0, limit).map((task) => videoOf(task, context)),
        tasks.length > limit,
      );
    },
  });
  addEndpoint(server, {
    ...shared,
    path: 'GET /v1/videos/:video_id/content',
    summary: 'The file of a completed video',
    query: v.strictObject({ variant: optional(v.literal('video'), 'there are no thumbnails') }),
    answer: { description: 'The file', content: { 'video/mp4': { schema: BINARY } } },
    handler: async (request, reply: FastifyReply) => {
      const task = await find(request);
      if (task.status !== 'completed') {
        const message = `the video has no file: its status is ${STATUS[task.status]}`;
        throw codedFailure('asset_not_found', message);
      }
      const [file] = await resultFiles(task.result as StoredResult, context);
      const signal = disconnectSignal(reply);
      const body = await bodyOf(file!, context.assets, { signal, range: null });
      reply.headers({ 'content-length': file!.bytes, 'cache-control': 'private' });
      return reply.type(file!.mediaType).send(body);
    },
  });
}

function videoOf(task: Task, { config }: AppContext) {
  const { id, status, error, createdAt, updatedAt } = task;
  const { prompt: text, size, duration } = task.request as VideoTaskRequest;
  const isDone = status === 'completed';
  return {
    ...{ id, object: 'video' as const, model: nameOfTask(task), status: STATUS[status] },
    ...{ prompt: text, seconds: String(duration), size, progress: isDone ? 100 : 0 },
    created_at: seconds(createdAt),
    completed_at: isDone ? seconds(updatedAt) : null,
    expires_at: isDone ? seconds(updatedAt + config.limits.retention) : null,
    error: error && { code: error.code ?? error.type, message: error.message },
  };
}
