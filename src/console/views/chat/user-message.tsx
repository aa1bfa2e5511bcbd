import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { TextArea } from '../../components/field.tsx';
import { Pictures } from './composer.tsx';
import type { UserTurn } from './conversation.ts';
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
    <article class="message user" aria-label="You">
      <h2 class="hidden">You</h2>
      {pictures.length > 0 && <Pictures pictures={pictures} />}
      {edit?.id === id ? (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            if (!isBlocked) onSend();
          }}
        >
          <TextArea
            label="Edit the message"
            hint={isLast ? undefined : 'What follows this message is replaced.'}
            dir="auto"
            rows={4}
            autoFocus
            value={edit.text}
            onValue={(value) => onEdit({ id, text: value })}
          />
          <div class="row">
            <Button
              kind="primary"
              type="submit"
              disabled={isBlocked || (edit.text.trim() === '' && pictures.length === 0)}
            >
              Send again
            </Button>
            <Button onClick={() => onEdit(null)}>Cancel</Button>
          </div>
        </form>
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
