import { checkedBody } from '../../../schema/body.ts';
import { nonEmptyTextOf } from '../../../schema/untrusted.ts';
import type { Json, TextRequest } from '../../canonical/canonical.ts';
import type { Findings } from '../native-parts.ts';
import { collectTop, settingsOf } from './decode-settings.ts';
import { decodeTurns, toolOf } from './decode-turns.ts';
import { refuseThread } from './errors.ts';
import { fields, type MessagesRequest } from './fields.ts';

/** @throws Failure invalid_request, `param` naming the field by its path */
export function decodeRequest(value: unknown): TextRequest {
  const body: MessagesRequest = checkedBody(fields.schema, value);
  refuseThread(body);
  const findings: Findings = { native: [], advice: [] };
  collectTop(body, findings);
  const turns = decodeTurns(body, findings);
  const { native, advice } = findings;
  const userId = nonEmptyTextOf(body.metadata?.user_id);
  // Spreading this many properties takes ten times as long.
  return Object.assign(settingsOf(body), {
    dialect: 'messages' as const,
    body: body as Json,
    model: body.model,
    stream: body.stream === true,
    includeUsage: true,
    turns,
    tools: (body.tools ?? []).flatMap(
      (tool, index) => toolOf(tool as Json, `tools[${index}]`, advice) ?? [],
    ),
    native,
    advice,
    endUser: userId === null ? null : { path: 'metadata', id: userId },
  });
}
