import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { TextArea } from '../../components/field.tsx';
import { Pictures } from './composer.tsx';
import type { UserTurn } from './formats/conversation.ts';
import type { ChatState } from './storage.ts';

interface UserMessageProps {
  readonly turn: UserTurn;
  readonly edit: ChatState['edit'];
  readonly isLast: boolean;
  /** Whether another answer arrives now, or the settings are not valid. */
  readonly isBlocked: boolean;
  readonly onEdit: (edit: ChatState['edit']) => void;
  readonly onSend: () => void;
}

export function UserMessage({ turn, edit, isLast, isBlocked, onEdit, onSend }: UserMessageProps) {
  const { id, text, pictures } = turn;
  return (
    <article class="stack message user" aria-label="You">
      <h2 class="hidden">You</h2>
      {pictures.length > 0 && <Pictures pictures={pictures} />}
      {edit?.id === id ? (
        <EditForm
          text={edit.text}
          isLast={isLast}
          isBlocked={isBlocked || (edit.text.trim() === '' && pictures.length === 0)}
          onText={(value) => onEdit({ id, text: value })}
          onSend={onSend}
          onCancel={() => onEdit(null)}
        />
      ) : (
        <>
          {text !== '' && (
            <p class="said" dir="auto">
              {text}
            </p>
          )}
          <div class="row actions">
            <Button kind="quiet" disabled={isBlocked} onClick={() => onEdit({ id, text })}>
              Edit
            </Button>
            <CopyButton text={text} label="message" />
          </div>
        </>
      )}
    </article>
  );
}

interface EditFormProps {
  readonly text: string;
  readonly isLast: boolean;
  readonly isBlocked: boolean;
  readonly onText: (text: string) => void;
  readonly onSend: () => void;
  readonly onCancel: () => void;
}

function EditForm({ text, isLast, isBlocked, onText, onSend, onCancel }: EditFormProps) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current!.querySelector('textarea')!.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isBlocked) onSend();
  };
  return (
    <form ref={form} class="stack" onSubmit={submit}>
      <TextArea
        label="Edit the message"
        hint={isLast ? undefined : 'What follows this message is replaced.'}
        dir="auto"
        rows={4}
        value={text}
        onValue={onText}
      />
      <div class="row">
        <Button kind="primary" type="submit" disabled={isBlocked}>
          Send again
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
