use super::*;
use crate::{HealthBoard, Unsent};

/// Answers with its number of life; fails when told.
#[derive(Debug)]
struct Probe;

enum Ask {
    Life(oneshot::Sender<u64>),
    Panic,
    End,
}

impl Actor for Probe {
    type Msg = Ask;
    type State = u64;
    type Arguments = u64;

    async fn pre_start(&self, _myself: ActorRef<Ask>, life: u64) -> Result<u64, ActorProcessingErr> {
        Ok(life)
    }

    async fn handle(
        &self,
        myself: ActorRef<Ask>,
        ask: Ask,
        life: &mut u64,
    ) -> Result<(), ActorProcessingErr> {
        match ask {
            Ask::Life(reply) => reply.send(*life).map_err(|_| "nobody asks any more".into()),
            Ask::Panic => panic!("test"),
            Ask::End => {
                myself.stop(None);
                Ok(())
            }
        }
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<Ask>,
        _event: SupervisionEvent,
        _life: &mut u64,
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

struct Tree {
    root: ActorRef<SupervisorMessage>,
    probes: Vec<Handle<Ask>>,
    board: HealthBoard,
}

impl Tree {
    async fn start(strategy: Strategy) -> Self {
        let board = HealthBoard::default();
        let probes = (0..3).map(|_| Handle::vacant()).collect::<Vec<_>>();
        let child = |handle: &Handle<Ask>| {
            let (role, generations) = (handle.clone(), handle.generations());
            ChildSpec::new("probe", role, move || (Probe, *generations.borrow() + 1))
        };
        let spec = SupervisorSpec {
            children: probes.iter().map(child).collect(),
            strategy,
            policy: RestartPolicy { max_restarts: 3, within: Duration::from_secs(60) },
            health: board.component("root"),
        };
        Tree { root: Supervisor::start(spec).await.unwrap(), probes, board }
    }

    async fn lives(&self) -> Vec<u64> {
        let mut lives = Vec::new();
        for probe in &self.probes {
            let (reply, answer) = oneshot::channel();
            assert!(probe.send(Ask::Life(reply)).is_ok());
            lives.push(answer.await.unwrap());
        }
        lives
    }

    async fn tell(&self, index: usize, ask: Ask) {
        let mut generations = self.probes[index].generations();
        generations.mark_unchanged();
        assert!(self.probes[index].send(ask).is_ok());
        generations.changed().await.unwrap();
        // Later children follow within the same supervision event.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_handle_reaches_the_actor_after_a_restart() {
    let tree = Tree::start(Strategy::OneForOne).await;
    assert_eq!(tree.lives().await, [1, 1, 1]);
    tree.tell(1, Ask::Panic).await;
    assert_eq!(tree.lives().await, [1, 2, 1]);
    tree.tell(1, Ask::End).await;
    assert_eq!(tree.lives().await, [1, 3, 1], "a child that ends by itself is started again too");
}

#[tokio::test(start_paused = true)]
async fn what_builds_on_a_failed_child_is_started_again_with_it() {
    let tree = Tree::start(Strategy::RestForOne).await;
    tree.tell(1, Ask::Panic).await;
    assert_eq!(tree.lives().await, [1, 2, 2]);
    tree.tell(0, Ask::Panic).await;
    assert_eq!(tree.lives().await, [2, 3, 3]);
}

#[tokio::test(start_paused = true)]
async fn too_many_failures_end_the_tree_and_are_reported() {
    let tree = Tree::start(Strategy::OneForOne).await;
    for _ in 0..3 {
        tree.tell(0, Ask::Panic).await;
    }
    assert_eq!(tree.board.all()["root"].condition, Condition::Idle);
    assert!(tree.probes[2].send(Ask::Panic).is_ok());
    tree.root.wait(None).await.unwrap();
    assert_eq!(tree.board.all()["root"].condition, Condition::Failed("too many failures"));
    assert!(matches!(tree.probes[1].send(Ask::Panic), Err(Unsent(Ask::Panic))));
}

#[tokio::test(start_paused = true)]
async fn stop_ends_every_child_and_restarts_none() {
    let tree = Tree::start(Strategy::RestForOne).await;
    let (reply, stopped) = oneshot::channel();
    tree.root.send_message(SupervisorMessage::Stop(reply)).unwrap();
    stopped.await.unwrap();
    for probe in &tree.probes {
        assert!(probe.send(Ask::End).is_err());
        assert_eq!(*probe.generations().borrow(), 1);
    }
}
