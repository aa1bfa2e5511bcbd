import type {
  Json,
  ReasoningRequest,
  RequestSetting,
  TextRequest,
} from '../../canonical/canonical.ts';
import { callIdOnWire } from '../calls.ts';
import type { Target } from '../dialect.ts';
import { isWrapped, unwrapSignature } from '../reasoning-signature.ts';
import { propertiesOf } from '../request-settings.ts';
import { nameOnWire } from '../tool-names.ts';
import type { Block, Message } from './block-fields.ts';
import { settingsOf } from './decode-request.ts';
import { settingsOnWire } from './encode-settings.ts';
import { fields, type MessagesRequest } from './fields.ts';
import { replayedReasoning } from './reasoning.ts';

/**
 * The body of a messages client for a messages upstream: unchanged but for names and ids that Anthropic
 * refuses, reasoning of other providers, empty texts, and settings that the model's rules changed.
 */
export function replayRequest(request: TextRequest, target: Target): Json {
  const body = request.body as MessagesRequest;
  const replayed: Record<string, unknown> = { ...body, model: target.model };
  replayed['messages'] = body.messages.flatMap((message) => replayMessage(message, target));
  if (Array.isArray(body.system))
    replayed['system'] = body.system.filter(({ text }) => text !== '');
  if (body.tools) {
    replayed['tools'] = body.tools.map((tool) =>
      tool.type === undefined || tool.type === null || tool.type === 'custom'
        ? { ...tool, name: nameOnWire((tool as { readonly name: string }).name) }
        : tool,
    );
  }
  const { tool_choice: choice } = body;
  if (choice?.type === 'tool')
    replayed['tool_choice'] = { ...choice, name: nameOnWire(choice.name) };
  const changed = changedSettings(request, body);
  if (changed.length === 0) return replayed;
  const others = changed.filter((setting) => setting !== 'reasoning');
  const encoded = settingsOnWire({ ...request, reasoning: null }, target);
  for (const property of others.flatMap((setting) => propertiesOf(fields.settings, setting))) {
    delete replayed[property];
    if (property in encoded) replayed[property] = encoded[property];
  }
  if (others.length < changed.length) putReasoning(replayed, request.reasoning);
  return replayed;
}

/** Puts reasoning into a body as the client wrote it: models that take efforts refuse budgets, and the reverse. */
function putReasoning(replayed: Record<string, unknown>, reasoning: ReasoningRequest | null): void {
  const { thinking, output_config: output } = replayed as Partial<MessagesRequest>;
  const { effort = null, budget = null } = reasoning ?? {};
  const { effort: written, ...others } = output ?? {};
  const keepsEffort = effort !== null && effort !== 'none' && (budget === null || written);
  const left = keepsEffort ? { ...others, effort } : others;
  if (Object.keys(left).length > 0) replayed['output_config'] = left;
  else delete replayed['output_config'];
  if (budget !== null) replayed['thinking'] = { ...thinking, budget_tokens: budget };
  else if (effort === 'none') replayed['thinking'] = { type: 'disabled' };
  else if (reasoning === null) delete replayed['thinking'];
}

function changedSettings(request: TextRequest, body: MessagesRequest): readonly RequestSetting[] {
  const sent = settingsOf(body);
  return (Object.keys(sent) as RequestSetting[]).filter((setting) => {
    const [before, now] = [sent[setting], request[setting]];
    // The gateway may have derived the effort from the client's budget.
    if (setting === 'reasoning' && sent.reasoning?.budget && request.reasoning) {
      return sent.reasoning.budget !== request.reasoning.budget;
    }
    return before !== now && JSON.stringify(before) !== JSON.stringify(now);
  });
}

function replayMessage(message: Message, target: Target): readonly Json[] {
  if (typeof message.content === 'string') return [message as Json];
  const blocks = (message.content as readonly Block[]).flatMap((block) =>
    replayBlock(block, target),
  );
  return blocks.length > 0 ? [{ ...message, content: blocks }] : [];
}

function replayBlock(block: Block, target: Target): readonly (Block | Json)[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [block];
    case 'tool_use':
      return [{ ...block, id: callIdOnWire(block.id), name: nameOnWire(block.name) }];
    case 'tool_result':
      return [{ ...block, tool_use_id: callIdOnWire(block.tool_use_id) }];
    case 'thinking': {
      const { thinking, signature } = block;
      if (!signature) return [];
      if (!isWrapped(signature)) return [block];
      const own = replayedReasoning(
        { text: thinking, signature: unwrapSignature(signature) },
        target,
      );
      return own === null ? [] : [own];
    }
    default:
      return [block];
  }
}
