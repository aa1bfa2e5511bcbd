import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Model } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';
import { Empty } from '../../components/states.tsx';
import { AnswerMessage } from './answer-message.tsx';
import { callsOf } from './formats/answer.ts';
import type { AnswerTurn, Turn } from './formats/conversation.ts';
import type { ChatStore } from './store.ts';
import { UserMessage } from './user-message.tsx';

/** Pixels from the end of the page within which the page follows a stream. */
const FOLLOWED = 120;

interface TurnsProps {
  readonly chat: ChatStore;
  readonly model: Model;
  /** Whether nothing can be sent now. */
  readonly isBlocked: boolean;
  /** Identifier of the answer whose request is shown. */
  readonly inspected: number | null;
  /** The field for the next message. */
  readonly field: RefObject<HTMLTextAreaElement>;
  readonly onInspect: (id: number | null) => void;
}

/** The messages of the conversation, or ideas for the first one. */
export function Turns({ chat, model, isBlocked, inspected, field, onInspect }: TurnsProps) {
  const { turns, edit } = chat.state;
  useEffect(() => {
    if (turns.length > 0) toEnd();
  }, []);
  useFollow(turns);
  return (
    <>
      {turns.length === 0 ? (
        <FirstMessages
          model={model}
          onChoose={(text) => {
            const { text: typed } = chat.state.draft;
            chat.changeDraft({ text: typed === '' ? text : `${typed}\n${text}` });
            field.current!.focus();
          }}
        />
      ) : (
        <div class="stack">
          {turns.map((turn, index) => {
            const isLast = index === turns.length - 1;
            return turn.type === 'user' ? (
              <UserMessage
                key={turn.id}
                turn={turn}
                edit={edit}
                isLast={isLast}
                isBlocked={isBlocked}
                onEdit={(change) => chat.changeEdit(change)}
                onSend={() => {
                  chat.sendEdit(model);
                  field.current!.focus();
                }}
              />
            ) : (
              <AnswerMessage
                key={turn.id}
                turn={turn}
                number={turns.slice(0, index + 1).filter(({ type }) => type === 'answer').length}
                isLast={isLast}
                isBlocked={isBlocked}
                isInspected={turn.id === inspected}
                onRetry={() => chat.retry(turn, model)}
                onInspect={() => onInspect(turn.id === inspected ? null : turn.id)}
                onResult={(call, text) => chat.changeResult(turn, call, text)}
                onSendResults={() => {
                  chat.sendResults(model);
                  field.current!.focus();
                }}
              />
            );
          })}
        </div>
      )}
      <Announcement turns={turns} />
    </>
  );
}

const FIRST_MESSAGES = [
  'Write a haiku about the sea.',
  'Explain HTTP caching in five short points.',
];

interface FirstMessagesProps {
  readonly model: Model;
  readonly onChoose: (text: string) => void;
}

function FirstMessages({ model, onChoose }: FirstMessagesProps) {
  return (
    <Empty title={`Say something to ${model.name ?? model.id}`}>
      {model.description && <p>{model.description}</p>}
      <div class="row">
        {FIRST_MESSAGES.map((text) => (
          <Button key={text} onClick={() => onChoose(text)}>
            {text}
          </Button>
        ))}
      </div>
    </Empty>
  );
}

/** Says to screen readers that an answer ended, not each of its pieces. */
function Announcement({ turns }: { readonly turns: readonly Turn[] }) {
  const [text, setText] = useState('');
  const last = turns.at(-1);
  const isStreaming = last?.type === 'answer' && last.isStreaming;
  const wasStreaming = useRef(false);
  useEffect(() => {
    if (isStreaming) setText('Waiting for the answer');
    else if (wasStreaming.current && last?.type === 'answer') setText(endOf(last));
    wasStreaming.current = isStreaming;
  }, [isStreaming]);
  return (
    <p class="hidden" role="status">
      {text}
    </p>
  );
}

function endOf({ answer, isStopped }: AnswerTurn): string {
  if (isStopped) return 'The answer is stopped';
  if (answer.error) return 'The answer failed';
  const calls = callsOf(answer).length;
  if (calls === 0) return 'The answer is complete';
  return `The answer is complete and calls ${calls === 1 ? 'a tool' : `${calls} tools`}`;
}

export function toEnd(): void {
  requestAnimationFrame(() => scrollTo(0, document.documentElement.scrollHeight));
}

/** Keeps the end of the page in sight while it grows, if the reader was there. */
function useFollow(turns: readonly Turn[]): void {
  const height = useRef(0);
  useEffect(() => {
    const { scrollHeight, clientHeight } = document.documentElement;
    const wasAtEnd = scrollY + clientHeight >= height.current - FOLLOWED;
    const grew = height.current !== 0 && scrollHeight > height.current;
    height.current = scrollHeight;
    if (grew && wasAtEnd) scrollTo(0, scrollHeight);
  }, [turns]);
}
