import { Empty } from '../../components/states.tsx';

export default function Chat() {
  return (
    <>
      <h1>Chat</h1>
      <Empty title="Not here yet" />
    </>
  );
}
