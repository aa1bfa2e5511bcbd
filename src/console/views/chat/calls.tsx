import { Button } from '../../components/button.tsx';
import { Code } from '../../components/copy.tsx';
import { TextArea } from '../../components/field.tsx';
import { callsOf } from './formats/answer.ts';
import { type AnswerTurn, awaitsResults } from './formats/conversation.ts';

interface CallsProps {
  readonly turn: AnswerTurn;
  /** `answer 2` */
  readonly of: string;
  readonly isLast: boolean;
  readonly isBlocked: boolean;
  readonly onResult: (index: number, text: string) => void;
  readonly onSend: () => void;
}

/** Calls of tools in an answer, with fields for their results. */
export function Calls({ turn, of, isLast, isBlocked, onResult, onSend }: CallsProps) {
  const calls = callsOf(turn.answer);
  if (calls.length === 0) return null;
  const isOpen = isLast && awaitsResults(turn);
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBlocked) onSend();
      }}
    >
      {calls.map((call, index) => (
        <div key={index} class="stack call">
          <p>
            Calls <code>{call.name}</code> <code class="muted">{call.id}</code>
          </p>
          <Code label={`arguments ${index + 1} of ${of}`} text={prettyOf(call.arguments)} />
          {isOpen ? (
            <TextArea
              label={`Result of ${call.name}`}
              rows={3}
              class="mono"
              spellcheck={false}
              placeholder="What the function returns, such as JSON"
              value={turn.results[index] ?? ''}
              onValue={(text) => onResult(index, text)}
            />
          ) : (
            awaitsResults(turn) && (
              <Code
                label={`result ${index + 1} of ${of}`}
                text={turn.results[index] || '(empty)'}
              />
            )
          )}
        </div>
      ))}
      {isOpen && (
        <div class="row">
          <Button kind="primary" type="submit" disabled={isBlocked}>
            {calls.length === 1 ? 'Send the result' : 'Send the results'}
          </Button>
          <span class="hint">The model reads results as text. An empty one is sent as empty.</span>
        </div>
      )}
    </form>
  );
}

function prettyOf(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json || '{}'), null, 2);
  } catch {
    return json;
  }
}
