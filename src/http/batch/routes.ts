import multipart from '@fastify/multipart';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { checkSides, DEFAULT_LIMITS } from '../../images/limits.ts';
import { FairSemaphore, type Release } from '../../operations/fair-semaphore.ts';
import type { Operation } from '../../operations/operation.ts';
import { OPERATIONS } from '../../operations/registry.ts';
import { fieldsOf, fromText, parseFields } from '../../schema/fields.ts';
import type { AppContext } from '../app-context.ts';
import { requirePaid } from '../auth.ts';
import { overloaded } from '../errors.ts';
import { disconnectSignal } from '../transport/client-disconnect.ts';
import { checkFormHeaders, type Form, type FormShape, readForm } from '../uploads/form.ts';
import { answerBatch } from './response.ts';
import { batchSchema } from './schema.ts';

/** Interface parts 4.10 and 8. */
const FILES = { name: 'files', min: 1, max: 20 } as const;
const BOUNDS = {
  fileBytes: DEFAULT_LIMITS.fileBytes,
  requestBytes: 100 * 1024 * 1024,
} as const;

/** The batch image endpoints (interface part 4.10), one for each operation that names its own. */
export function batchRoutes(context: AppContext): FastifyPluginAsync {
  return async (server) => {
    // JSON and text are no forms: what no parser takes is answered 415.
    server.removeAllContentTypeParsers();
    await server.register(multipart);
    const { metrics, spool } = context;
    const places = new FairSemaphore(context.config.batch.concurrency);
    metrics.gauge('oriel_batches_running', 'Batches that are worked on', () => places.acquired);
    metrics.gauge('oriel_batches_waiting', 'Batches that wait for others', () => places.waiting);
    metrics.gauge('oriel_spool_bytes', 'Bytes of uploads on disk', () => spool.bytes);

    for (const operation of OPERATIONS) {
      const { endpoint } = operation;
      if (endpoint === undefined) continue;
      const fields = fieldsOf(operation.options).map(({ name }) => name);
      const shape: FormShape = { files: [FILES], ...BOUNDS, fields };
      server.post(`/api/free/${endpoint}`, {
        schema: batchSchema(operation, FILES, fields, context.config.batch.side),
        onRequest: async (request) => {
          requirePaid(request);
          checkFormHeaders(request, shape);
          spool.checkRoom(Number(request.headers['content-length'] ?? 0));
        },
        handler: async (request, reply) => {
          const signal = disconnectSignal(reply);
          const uploads = spool.uploads();
          let begun = false;
          try {
            const form = await readForm(request, shape, uploads, signal);
            const options = parseOptions(operation, form, context.config.batch);
            // Only now: who still sends must not keep others from their turn.
            const leave = await admit(places, request, context, signal);
            begun = true;
            try {
              const files = form.files.get(FILES.name)!;
              const batch = { operation, endpoint, options, files };
              return await answerBatch(batch, context, request, reply, signal);
            } finally {
              leave();
            }
          } finally {
            if (signal.aborted && !begun) metrics.observeBatch(endpoint, 'abandoned');
            await uploads.discard();
          }
        },
      });
    }
  };
}

/** @throws Failure that names the field at fault */
function parseOptions(
  { options }: Operation,
  form: Form,
  limits: AppContext['config']['batch'],
): unknown {
  const values = fieldsOf(options).flatMap((field) => {
    const text = form.fields.get(field.name);
    return text === undefined ? [] : [[field.name, fromText(field, text)]];
  });
  const parsed = parseFields(options, Object.fromEntries(values));
  checkSides(parsed as Record<string, unknown>, limits);
  return parsed;
}

async function admit(
  places: FairSemaphore,
  { holder }: FastifyRequest,
  { config }: AppContext,
  signal: AbortSignal,
): Promise<Release> {
  const { concurrency, queue } = config.batch;
  const account = holder.account.id;
  // An account may have half as many waiting as there is room for others, so that it never fills the queue.
  const most = Math.ceil((queue - places.waiting) / 2);
  if (places.acquired >= concurrency && places.waitingOf(account) >= most) {
    throw overloaded('too many batches are waiting; send this one later');
  }
  return places.acquire(account, signal);
}
