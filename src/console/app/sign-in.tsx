import { useState } from 'preact/hooks';
import { useAction } from '../api/action.ts';
import { ApiError } from '../api/request.ts';
import { signIn } from '../api/session.ts';
import { Button } from '../components/button.tsx';
import { Form, TextField } from '../components/field.tsx';
import { Link } from '../components/navigation.tsx';

/** Asks for an API key. The view of the address opens once the key is accepted. */
export function SignIn() {
  const [key, setKey] = useState('');
  const { error, isBusy, run } = useAction(async () => {
    if (key.trim() === '') throw new ApiError('Paste an API key.');
    await signIn(key.trim());
  });
  return (
    <div class="sign-in">
      <h1>Sign in to Oriel</h1>
      <Form class="card" onSubmit={run} noValidate>
        <TextField
          label="API key"
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          value={key}
          onValue={setKey}
          error={error && messageOf(error)}
          required
          hint="The owner's key was printed when the server first started, or is in the file first-key of its data folder."
        />
        <Button kind="primary" type="submit" isBusy={isBusy}>
          Sign in
        </Button>
      </Form>
      <p class="muted">
        The browser gets a cookie for twelve hours, and no page can read the key. New keys:{' '}
        <code>oriel keys create --account owner</code>. The <Link to="api">API</Link> can be read
        without a key.
      </p>
    </div>
  );
}

function messageOf({ retryAfter, message }: ApiError): string {
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1).replace(/\.$/, '')}.`;
  return retryAfter === null ? sentence : `${sentence} Try again in ${retryAfter} s.`;
}
