import type { FastifyInstance, FastifyRequest } from 'fastify';
import { FairSemaphore, type Release } from '../../fair-semaphore.ts';
import { checkSides, DEFAULT_LIMITS } from '../../images/limits.ts';
import type { SetOperation } from '../../operations/batch/set.ts';
import { BATCHES } from '../../operations/internal.ts';
import { fieldsOf, fromText, parseFields } from '../../schema/fields.ts';
import type { TextJobs } from '../../threads/text-threads.ts';
import type { AppContext } from '../request/app-context.ts';
import { requirePaid } from '../request/auth.ts';
import { overloaded } from '../responses/errors.ts';
import { disconnectSignal } from '../transport/client-disconnect.ts';
import { checkFormHeaders, type Form, withForm } from '../uploads/form.ts';
import type { FormShape } from '../uploads/parts.ts';
import { fileFields, namedImages, nameOfFile } from './named-images.ts';
import { sendBatch } from './response.ts';
import { batchSchema } from './schema.ts';

/** Files of one batch, and bytes of one file and of all. */
const FILES = { name: 'files', min: 1, max: 20 } as const;
const BOUNDS = {
  fileBytes: DEFAULT_LIMITS.fileBytes,
  requestBytes: 100 * 1024 * 1024,
} as const;

/** Bytes of a field that is a document, such as a recipe. */
const DOCUMENT_BYTES = 256 * 1024;

/** The batch image endpoints, one for each operation with an `endpoint`. */
export function batchRoutes(server: FastifyInstance, context: AppContext): void {
  const { metrics, spool } = context;
  const semaphore = new FairSemaphore(context.config.batch.concurrency);
  metrics.gauge('oriel_batches_running', 'Batches that are running', () => semaphore.acquired);
  metrics.gauge('oriel_batches_waiting', 'Batches that wait', () => semaphore.waiting);
  metrics.gauge('oriel_spool_bytes', 'Bytes of uploads on disk', () => spool.bytes);

  for (const operation of BATCHES) {
    const { endpoint, set } = operation;
    const fileField = { ...FILES, max: set?.maxFiles ?? FILES.max };
    const others = fileFields(operation);
    const fields = fieldsOf(operation.options)
      .map(({ name }) => name)
      .filter((name) => !others.some((file) => file.name === name && !file.orText));
    const shape: FormShape = {
      ...BOUNDS,
      files: [fileField, ...others],
      fields,
      keepsUnknown: true,
      ...(operation.document && { valueBytes: DOCUMENT_BYTES, takesTextFiles: true as const }),
    };
    server.post(`/api/free/${endpoint}`, {
      schema: batchSchema(operation, shape, context.config.batch.side),
      config: { operation: 'batch' },
      onRequest: async (request) => {
        requirePaid(request);
        checkFormHeaders(request, shape, spool);
      },
      handler: async (request, reply) => {
        const signal = disconnectSignal(reply);
        let started = false;
        const run = async (form: Form) => {
          const client = request.holder.account.id;
          const threads = context.textThreads.forClient(client);
          const { given, options } = await parseOptions(
            operation,
            form,
            context.config.batch,
            threads,
          );
          const files = form.files.get(FILES.name)!;
          set?.check?.(given as never, files.length);
          const images = namedImages(operation, options, form, shape);
          // Only once the upload is complete: a slow upload must not hold a slot.
          const release = await acquireSlot(semaphore, request, context, signal);
          started = true;
          try {
            const batch = { operation, endpoint, given, options, images, files };
            return await sendBatch(batch, context, request, reply, signal);
          } finally {
            release();
          }
        };
        return withForm(request, shape, { spool, signal }, run).finally(() => {
          if (signal.aborted && !started) {
            metrics.batches.inc({ endpoint, outcome: 'abandoned' });
          }
        });
      },
    });
  }
}

/** @throws Failure that names the field at fault */
async function parseOptions(
  operation: SetOperation,
  form: Form,
  limits: AppContext['config']['batch'],
  threads: TextJobs,
): Promise<{ readonly given: unknown; readonly options: unknown }> {
  const { options, prepare } = operation;
  const files = fileFields(operation);
  const values = fieldsOf(options).flatMap((field) => {
    const file = files.find(({ name }) => name === field.name);
    const text = file ? nameOfFile(form, file) : form.fields.get(field.name);
    if (text === undefined) return [];
    // A field is sent once: a list has an item on each line.
    const value = field.repeatable ? text.split(/\r?\n/).filter(Boolean) : fromText(field, text);
    return [[field.name, value]];
  });
  for (const name of form.unknown) values.push([name, '']);
  const parsed = parseFields(options, Object.fromEntries(values));
  checkSides(parsed as Record<string, unknown>, limits);
  return { given: parsed, options: prepare ? await prepare(parsed as never, { threads }) : parsed };
}

async function acquireSlot(
  semaphore: FairSemaphore,
  { holder }: FastifyRequest,
  { config }: AppContext,
  signal: AbortSignal,
): Promise<Release> {
  const { concurrency, queue } = config.batch;
  const account = holder.account.id;
  // An account's batches may take half of the free places in the queue, so that it never fills the queue.
  const maxWaiting = Math.ceil((queue - semaphore.waiting) / 2);
  if (semaphore.acquired >= concurrency && semaphore.waitingOf(account) >= maxWaiting) {
    throw overloaded('too many batches are waiting; send this one later');
  }
  return semaphore.acquire(account, signal);
}
