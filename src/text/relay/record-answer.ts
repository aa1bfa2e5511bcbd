import { nonEmptyTextOf, objectOf } from '../../schema/untrusted.ts';
import type { Trace } from '../../telemetry/trace.ts';
import type { Json } from '../canonical/canonical.ts';
import type { Dialect } from '../dialects/dialect.ts';

/** Records for a trace which model an event or a whole answer names, and why the answer ended. */
export function recordAnswer(trace: Trace, dialect: Dialect, body: Json): void {
  for (const path of dialect.modelPaths) {
    const own = path.length === 1 ? body : objectOf(body[path[0]!]);
    trace.named(nonEmptyTextOf(own[path.at(-1)!]));
  }
  for (const reason of dialect.finishReasons(body)) trace.finished(reason);
}
