import type { FastifyReply, FastifyRequest } from 'fastify';
import { codedFailure, Failure } from '../../../failure.ts';
import { ignoredAdvice, ignoredOptions } from '../../../media/providers/providers.ts';
import { failureOf } from '../../../media/record.ts';
import type { Fields } from '../../../media/requests/fields.ts';
import type { MediaCall, MediaKind } from '../../../media/task/call.ts';
import type { StoredResult, TaskRequest } from '../../../media/task/task-request.ts';
import { formatValue } from '../../../schema/faults.ts';
import { expected, invalid, named } from '../../../schema/invalid.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type { Asset } from '../../../store/asset.ts';
import { isTerminal, type Task } from '../../../store/task.ts';
import { IGNORED_HEADER, pathsHeader } from '../../../text/execution/execution.ts';
import { showCredits } from '../../request/admission.ts';
import type { AppContext } from '../../request/app-context.ts';
import { traceOf } from '../../request/request-span.ts';
import { readTags } from '../../request/tags.ts';

/** The response to the creation of a task, with its status. */
export function sendCreated(reply: FastifyReply, { id, model, status }: Task): FastifyReply {
  return reply.code(202).send({
    task_id: id,
    // A repeated request gets the response of the first one, even if the task has ended since.
    status: isTerminal(status) ? 'pending' : status,
    model,
    poll_url: pollUrl(id),
  });
}

const pollUrl = (taskId: string): string => `/v1/tasks/${taskId}`;

/**
 * The options of a task's request that no route of its model has, and the advice that one of them leaves out: which
 * one will serve it is not known yet.
 */
function ignoredOf({ model: id, request }: Task, config: AppContext['config']): string[] {
  const { models, providers } = config;
  const routes = Object.hasOwn(models, id) ? models[id]!.routes : [];
  const advice = routes.flatMap((one) => ignoredAdvice(request as TaskRequest, one, providers));
  const options = routes.map((one) => ignoredOptions(request as TaskRequest, one, providers));
  return options.every((names) => names.length > 0) ? [...advice, ...options.flat()] : advice;
}

/** Names fields that are left out. */
export function nameIgnored(reply: FastifyReply, names: readonly string[]): void {
  if (names.length > 0) reply.header(IGNORED_HEADER, pathsHeader(names));
}

/** A task for whose end a client waits. */
export interface AwaitedTask {
  readonly submitted: Task;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Waits for a task as long as `limits.syncWait`; resolves with the task as it then is. A client that
 * disconnects ends the wait, not the task.
 */
export async function waitForEnd(
  { media, config }: AppContext,
  reply: FastifyReply,
  { submitted, signal }: AwaitedTask,
): Promise<Task> {
  const task = await media.waitFor(submitted, config.limits.syncWait, signal);
  signal.throwIfAborted();
  if (isTerminal(task.status)) showCredits(reply, task.charged);
  return task;
}

/** Names a task to clients whose response has no other place for it. */
export function announceTask(reply: FastifyReply, { submitted }: AwaitedTask): void {
  reply.header('x-oriel-task', submitted.id);
}

/**
 * Waits for the result of a task, for clients of OpenAI's interface, which has no tasks: a task that
 * still runs is an error that names it.
 *
 * @throws Failure of the task, or timeout with code `task_running`
 */
export async function waitForResult(
  context: AppContext,
  reply: FastifyReply,
  awaited: AwaitedTask,
): Promise<StoredResult> {
  const task = await waitForEnd(context, reply, awaited);
  if (task.status === 'completed') return task.result as StoredResult;
  const failure = task.error === null ? stillRunning(task) : failureOf(task.error);
  // OpenAI's SDKs repeat requests after 5xx, and each repetition would be charged again.
  const isCharged = failure.type === 'billable_error' || task.error === null;
  if (isCharged && task.idempotency === null) reply.header('x-should-retry', 'false');
  throw failure;
}

const RESULTS = {
  image: 'the images are',
  video: 'the video is',
  audio: 'the audio is',
} as const satisfies Readonly<Record<Task['type'], string>>;

function stillRunning({ id, type }: Task): Failure<'timeout'> {
  return codedFailure(
    'task_running',
    `${RESULTS[type]} not ready yet; the task ${id} goes on, and GET ${pollUrl(id)} returns its result`,
  );
}

/**
 * The files of a result.
 *
 * @throws Failure 404 `asset_not_found` if a file was deleted, 500 `asset_damaged` if it is truncated
 */
export function resultFiles(
  { outputs }: StoredResult,
  { assets, store }: Pick<AppContext, 'assets' | 'store'>,
): Promise<Asset[]> {
  return Promise.all(
    outputs.map(async ({ asset }) => {
      const file = await store.findAsset(asset);
      if (file === undefined) {
        throw codedFailure('asset_not_found', 'the files of the result have been deleted');
      }
      await assets.check(file);
      return file;
    }),
  );
}

/** What a request asks for, as the endpoint has read it. */
interface Submission extends Pick<MediaCall, 'images' | 'mask'> {
  readonly kind: MediaKind;
  readonly fields: Fields;
  /** Fields that the endpoint leaves out. */
  readonly ignored: readonly string[];
  /** The endpoint's names of fields that have other names in a task. */
  readonly fieldNames?: Readonly<Record<string, string>>;
}

/** Creates the task of a request, and names to its client what is left out. @throws Failure */
export async function submitMedia(
  context: AppContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { ignored, fieldNames = {}, ...submission }: Submission,
): Promise<Task> {
  const { media, publicUrl, config } = context;
  const { holder } = request;
  const idempotencyKey = idempotencyKeyOf(request);
  const trace = traceOf(request, context);
  const task = await media.submit({
    ...{ ...submission, holder, idempotencyKey, publicUrl, tags: readTags(request) },
    ...trace,
  });
  request.task = task;
  const ofTask = ignoredOf(task, config).map((name) => fieldNames[name] ?? name);
  nameIgnored(reply, [...new Set([...ofTask, ...ignored])]);
  return task;
}

/** @throws Failure invalid_request if the body is not an object */
export function fieldsOf({ body }: FastifyRequest): Fields {
  if (isObject(body)) return body;
  const received = body === undefined ? 'nothing' : formatValue(body, []);
  throw new Failure('invalid_request', named('the body', expected('an object', received)));
}

const PARAM = 'Idempotency-Key';
const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * The Idempotency-Key of a request, by which a repeated request is executed once; null without one.
 *
 * @throws Failure invalid_request
 */
function idempotencyKeyOf({ headers }: FastifyRequest): string | null {
  const key = headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw invalid(PARAM, 'expected 1 to 255 printable ASCII characters');
}
