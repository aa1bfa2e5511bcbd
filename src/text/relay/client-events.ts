import type { ProviderOrigin } from '../../routing/redaction.ts';
import { redactForClient } from '../../routing/redaction.ts';
import { objectOf, objectsOf } from '../../schema/untrusted.ts';
import type { Trace } from '../../telemetry/trace.ts';
import type { DialectName } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import { untranslatableBlock } from '../dialects/answer-errors.ts';
import type { Target } from '../dialects/dialect.ts';
import { bareSignature } from '../dialects/reasoning-signature.ts';

interface ClientEventsOptions {
  /** The client's dialect. */
  readonly dialect: DialectName;
  readonly target: Target;
  /** The model that answers name; null for the upstream's own name. */
  readonly model: string | null;
  /** The provider, which failures for clients must not name. */
  readonly origin: ProviderOrigin;
  /** Called with what the client's format cannot express: `answer.web_search_call`. */
  readonly onLeftOut: (name: string) => void;
  /** Null where the request is not traced. */
  readonly trace: Trace | null;
}

/** Members and types of blocks without which an answer is another one: media, and calls that the client runs. */
const ESSENTIAL =
  /image|audio|video|inlineData|fileData|^tool_calls$|^(apply_patch|computer|custom_tool|function|(local_)?shell)_call$|^mcp_approval_request$/;

type NativeEvent = TextEvent & { readonly type: 'native' };

/** What a native block is: its type, or else its members and the types of its parts. */
function kindsOf(value: unknown): readonly string[] {
  const { type, content, ...rest } = objectOf(value);
  if (typeof type === 'string') return [type];
  return [...objectsOf(content).map((part) => String(part['type'])), ...Object.keys(rest)];
}

/** Pushes the events that a client gets for the events of one answer of an upstream. */
export function clientEvents(
  { dialect, target, model, origin, trace, onLeftOut }: ClientEventsOptions,
  push: (event: TextEvent) => void,
): (event: TextEvent) => void {
  /** The first block that was left out. */
  let leftOut: NativeEvent | null = null;
  let hasContent = false;
  const refuse = (block: NativeEvent) =>
    push({ type: 'error', failure: untranslatableBlock(dialect, block) });
  const pass = (event: TextEvent): void => {
    switch (event.type) {
      case 'start':
        trace?.named(event.model);
        push({ ...event, model: model ?? event.model });
        return;
      case 'native': {
        const kinds = kindsOf(event.value);
        if (event.dialect === dialect) push(event);
        else if (event.translation) event.translation.forEach(pass);
        else if (kinds.some((kind) => ESSENTIAL.test(kind))) refuse(event);
        else {
          leftOut ??= event;
          onLeftOut(`answer.${kinds[0]?.slice(0, 60)}`);
        }
        return;
      }
      case 'reasoning-end':
        // Strict clients of messages and responses send back only reasoning with an opaque field.
        push({
          ...event,
          signature: event.signature ?? bareSignature(target.dialect, target.provider),
        });
        return;
      case 'finish':
        trace?.finished(event.raw ?? event.reason);
        // An answer without any content would look like success.
        if (leftOut !== null && !hasContent) refuse(leftOut);
        else push(event);
        return;
      case 'error':
        push({ type: 'error', failure: redactForClient(event.failure, origin) });
        return;
      default:
        hasContent ||= /^(text|refusal|tool)-/.test(event.type);
        push(event);
    }
  };
  return pass;
}
