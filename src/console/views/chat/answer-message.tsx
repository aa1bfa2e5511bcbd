import { ApiError } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { Code, CopyButton } from '../../components/copy.tsx';
import { FactList, type NamedFact } from '../../components/fact-list.tsx';
import { Form, TextArea } from '../../components/field.tsx';
import { formatCredits, formatDuration, formatNumber } from '../../components/format.ts';
import { pretty } from '../../components/json.ts';
import { ErrorState } from '../../components/states.tsx';
import { type Answer, callsOf, type Part, textOf } from './formats/answer.ts';
import { type AnswerTurn, awaitsResults } from './formats/conversation.ts';
import { FORMATS } from './formats/formats.ts';
import { RichText } from './rich-text.tsx';
import type { Talk } from './store.ts';

interface AnswerMessageProps {
  readonly talk: Talk;
  readonly turn: AnswerTurn;
  /** Of the answers of the conversation, from 1. */
  readonly number: number;
  readonly isLast: boolean;
}

export function AnswerMessage({ talk, turn, number, isLast }: AnswerMessageProps) {
  const { chat, model, isBlocked, inspected, onInspect } = talk;
  const { answer, isStreaming, isStopped } = turn;
  const isInspected = turn.id === inspected;
  const onRetry = () => chat.retry(turn, model);
  const { error, parts } = answer;
  const name = `answer ${number}`;
  return (
    <article
      class="stack gap-l message answer"
      aria-label={`Answer of ${turn.model}`}
      aria-busy={isStreaming}
    >
      <h2>
        {turn.model} <span class="badge">{FORMATS[turn.format].label}</span>
      </h2>
      {parts.map((part, index) => (
        <PartView
          key={index}
          answerName={name}
          part={part}
          isOpen={isStreaming && index === parts.length - 1}
        />
      ))}
      {isStreaming && parts.length === 0 && <p class="muted pulse">Waiting for the first token…</p>}
      <Calls {...{ talk, turn, isLast }} answerName={name} />
      {turn.leftOut && (
        <p class="notice warn">The server dropped these fields of the request: {turn.leftOut}</p>
      )}
      {error && (
        <ErrorState
          error={new ApiError(error.message, error)}
          onRetry={isLast && !isBlocked ? onRetry : undefined}
        />
      )}
      {isStopped && <p class="muted">Stopped. The text so far stays in the conversation.</p>}
      <StopNote answer={answer} />
      <div class="row actions">
        <Measures turn={turn} />
        <span class="row end gap-0">
          {textOf(answer) !== '' && <CopyButton text={textOf(answer)} label="answer" />}
          {isLast && !error && (
            <Button kind="quiet" disabled={isBlocked} onClick={onRetry}>
              Retry
            </Button>
          )}
          <Button
            kind="quiet"
            aria-expanded={isInspected}
            onClick={() => onInspect(isInspected ? null : turn.id)}
          >
            Request and events
          </Button>
        </span>
      </div>
    </article>
  );
}

interface PartViewProps {
  readonly part: Part;
  readonly answerName: string;
  /** Whether it still grows. */
  readonly isOpen: boolean;
}

function PartView({ part, answerName, isOpen }: PartViewProps) {
  switch (part.type) {
    case 'text':
      return <RichText partOf={answerName} text={part.text} />;
    case 'reasoning':
      return (
        <details class="reasoning">
          <summary>{isOpen ? 'Reasoning…' : 'Reasoning'}</summary>
          <p class="said" dir="auto">
            {part.text}
          </p>
        </details>
      );
    case 'refusal':
      return (
        <p class="notice warn" dir="auto">
          Refused: {part.text}
        </p>
      );
    case 'other':
      return <p class="badge">{part.name || 'another part'}</p>;
    case 'call':
      return null;
  }
}

/** Message for the reader about how an answer ended; empty for the usual ends. */
const NOTES: Readonly<Record<string, string>> = {
  stop: '',
  calls: '',
  length: 'The answer ends here because it reached the limit of tokens.',
  refusal: 'A content filter ended the answer.',
};

function StopNote({ answer: { stop } }: { readonly answer: Answer }) {
  const note = stop && (NOTES[stop] ?? `Ended with ${stop}.`);
  return note ? <p class="notice warn">{note}</p> : null;
}

function Measures({ turn }: Pick<AnswerMessageProps, 'turn'>) {
  const { firstToken, duration, answer, credits } = turn;
  const { input = 0, cached = 0, output = 0, reasoning = 0 } = answer.usage ?? {};
  const writing = firstToken != null && duration != null ? duration - firstToken : 0;
  const facts: readonly NamedFact[] = [
    ['First token', firstToken != null && formatDuration(firstToken)],
    ['Total', duration != null && formatDuration(duration)],
    ['Input', answer.usage && `${formatNumber(input)} tokens`],
    ['Cached', cached > 0 && formatNumber(cached)],
    ['Output', answer.usage && `${formatNumber(output)} tokens`],
    ['Reasoning', reasoning > 0 && formatNumber(reasoning)],
    [
      'Speed',
      answer.usage && writing >= 100 && `${formatNumber((output * 1000) / writing)} tokens/s`,
    ],
    ['Credits', credits != null && formatCredits(credits)],
  ];
  return <FactList class="facts measures" facts={facts} />;
}

interface CallsProps extends Omit<AnswerMessageProps, 'number'> {
  /** `answer 2` */
  readonly answerName: string;
}

/** Calls of tools in an answer, with fields for their results. */
function Calls({ talk, turn, answerName, isLast }: CallsProps) {
  const { chat, model, isBlocked, field } = talk;
  const calls = callsOf(turn.answer);
  if (calls.length === 0) return null;
  const isOpen = isLast && awaitsResults(turn);
  const send = () => {
    if (isBlocked) return;
    chat.sendResults(model);
    field.current!.focus();
  };
  return (
    <Form class="stack" onSubmit={send}>
      {calls.map((call, index) => (
        <div key={index} class="stack gap-m framed call">
          <p>
            Calls <code>{call.name}</code> <code class="muted">{call.id}</code>
          </p>
          <Code
            label={`arguments ${index + 1} of ${answerName}`}
            text={pretty(call.arguments || '{}')}
          />
          {isOpen ? (
            <TextArea
              label={`Result of ${call.name}`}
              rows={3}
              class="mono"
              spellcheck={false}
              placeholder="What the function returns, such as JSON"
              value={turn.results[index] ?? ''}
              onValue={(text) => chat.changeResult(turn, index, text)}
            />
          ) : (
            awaitsResults(turn) && (
              <Code
                label={`result ${index + 1} of ${answerName}`}
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
          <span class="hint">The model reads results as text. Empty results are sent empty.</span>
        </div>
      )}
    </Form>
  );
}
