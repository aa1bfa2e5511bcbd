import type { Logger } from 'pino';
import { genAiNameIn } from '../config/provider-kinds.ts';
import type { Config } from '../config/schema.ts';
import { MAX_REASON } from '../http/transport/request-log.ts';
import { toCredits } from '../store/credits.ts';
import type { Task } from '../store/task.ts';
import { Attributes } from '../telemetry/attributes.ts';
import { errorTypeOf } from '../telemetry/trace.ts';
import type { Tracer } from '../telemetry/tracer.ts';

/** What this process asked of providers for a task. */
interface Asked {
  /** The last one; null for none. */
  readonly provider: string | null;
  readonly attempts: number;
}

const NONE: Asked = { provider: null, attempts: 0 };

/** The providers that were asked for open tasks. */
export class AskedProviders {
  readonly #asked = new Map<string, Asked>();

  add(task: string, provider: string): void {
    this.#asked.set(task, { provider, attempts: (this.#asked.get(task) ?? NONE).attempts + 1 });
  }

  /** Returns those of a task that has ended, and forgets them. */
  take(task: string): Asked {
    const asked = this.#asked.get(task) ?? NONE;
    this.#asked.delete(task);
    return asked;
  }
}

/** Writes the log line of a task that has ended. */
export function logTask(
  log: Logger,
  { id, keyId, type, model, status, error, charged, createdAt, updatedAt }: Task,
  { provider, attempts }: Asked,
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
  { asked, config }: { readonly asked: Asked; readonly config: Config },
): void {
  const trace = tracer.task(task);
  if (trace === null) return;
  const { id, keyId, type, model, status, error, charged } = task;
  const { provider, attempts } = asked;
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
