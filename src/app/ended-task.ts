import type { Logger } from 'pino';
import { genAiNameIn } from '../config/providers/provider-kinds.ts';
import type { Config } from '../config/settings/schema.ts';
import { MAX_REASON } from '../http/request/request-log.ts';
import { toCredits } from '../store/credits.ts';
import type { Task } from '../store/task.ts';
import { Attributes } from '../telemetry/attributes.ts';
import { errorTypeOf } from '../telemetry/trace.ts';
import type { Tracer } from '../telemetry/tracer.ts';

/** Attempts of this process to have a task done by providers. */
interface AttemptCount {
  /** The last one; null for none. */
  readonly provider: string | null;
  readonly attempts: number;
}

const NONE: AttemptCount = { provider: null, attempts: 0 };

/** Attempts for open tasks. */
export class ProviderAttempts {
  readonly #counts = new Map<string, AttemptCount>();

  add(task: string, provider: string): void {
    this.#counts.set(task, { provider, attempts: (this.#counts.get(task) ?? NONE).attempts + 1 });
  }

  /** Returns those of a task that has ended, and forgets them. */
  take(task: string): AttemptCount {
    const count = this.#counts.get(task) ?? NONE;
    this.#counts.delete(task);
    return count;
  }
}

/** Writes the log line of a task that has ended. */
export function logTask(
  log: Logger,
  { id, keyId, type, model, status, error, charged, createdAt, updatedAt }: Task,
  { provider, attempts }: AttemptCount,
): void {
  log.info(
    {
      ...{ task: id, key: keyId, type, model, status },
      milliseconds: updatedAt - createdAt,
      ...(error !== null && {
        errorType: error.type,
        ...(error.code !== null && { code: error.code }),
        reason: error.message.slice(0, MAX_REASON),
      }),
      ...(provider !== null && { provider }),
      attempts,
      credits: toCredits(charged),
    },
    'task',
  );
}

/** `gen_ai.output.type` by type of the task; the conventions have no word for videos. */
const OUTPUTS = { image: 'image', audio: 'speech', video: null } as const;

/** Sends the span of a task that has ended: from its creation on, whatever process it began in. */
export function endTaskSpan(
  tracer: Tracer,
  task: Task,
  { attempts: count, config }: { readonly attempts: AttemptCount; readonly config: Config },
): void {
  const trace = tracer.task(task);
  if (trace === null) return;
  const { id, keyId, type, model, status, error, charged } = task;
  const { provider, attempts } = count;
  const attributes = new Attributes()
    .text('gen_ai.operation.name', trace.operation)
    .text('gen_ai.provider.name', genAiNameIn(config.providers, provider))
    .text('gen_ai.request.model', model)
    .text('gen_ai.output.type', OUTPUTS[type])
    .text('error.type', error && errorTypeOf(error))
    .text('oriel.provider', provider)
    .integer('oriel.attempts', attempts)
    .text('oriel.task.id', id)
    .text('oriel.task.type', type)
    .text('oriel.task.status', status)
    .text('oriel.key.id', keyId)
    .double('oriel.credits', toCredits(charged));
  const end = { name: `${trace.operation} ${model}`, attributes, isError: error !== null };
  trace.close(end, task.updatedAt);
}
